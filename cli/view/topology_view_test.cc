#include "cli/view/topology_view.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "cli/view/table.h"

namespace basalt::cli {
namespace {

using gateway::v1::Topology;
using ::testing::HasSubstr;
using ::testing::Not;

Topology Parse(const char* text) {
  Topology topology;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &topology));
  return topology;
}

constexpr char kBusy[] = R"pb(
  epoch: 7
  slot_count: 1024
  gateway: "gateway-0"
  version: "1.2"
  leads: true
  members {
    member { service: SERVICE_KIND_JOB replica: "jobsvc-0" address: "10.0.0.1:1" }
    slots: 600
    attached: true
    sent_sequence: 12
    acknowledged_sequence: 9
    dirty_keys: 4
    lag_ms: 250
  }
  members {
    member { service: SERVICE_KIND_JOB replica: "jobsvc-1" address: "10.0.0.2:1" }
    slots: 424
    waiting_slots: 24
    attached: true
    leaving: true
  }
  members {
    member { service: SERVICE_KIND_QUEUE replica: "queuesvc-0" }
    slots: 1024
    lag_ms: 61000
  }
  moves {
    service: SERVICE_KIND_JOB
    from: "jobsvc-1"
    to: "jobsvc-0"
    stage: STAGE_TRANSFERRING
    slots: 400
    since_ms: 1900
  }
  moves { service: SERVICE_KIND_QUEUE to: "queuesvc-0" stage: STAGE_WAITING slots: 3 since_ms: 20 }
  watches { watch: "pods/job" state: STATE_READY resource_version: 70 objects: 6 }
)pb";

TEST(TopologyViewTest, ShowsMembersMovesAndWatches) {
  EXPECT_EQ(FormatTopology(Parse(kBusy), 0),
            "gateway gateway-0 (version 1.2), leads, epoch 7, 1024 slots\n"
            "\n"
            "SERVICE    REPLICA      ADDRESS      STATE      SLOTS   WAITING   UNACKED   LAG     DIRTY\n"
            "jobsvc     jobsvc-0     10.0.0.1:1   attached   600     0         3         250ms   4\n"
            "jobsvc     jobsvc-1     10.0.0.2:1   leaving    424     24        0         0ms     0\n"
            "queuesvc   queuesvc-0   -            away       1024    0         0         61s     0\n"
            "\n"
            "MOVING     FROM       TO           STAGE          SLOTS   FOR\n"
            "jobsvc     jobsvc-1   jobsvc-0     transferring   400     1s\n"
            "queuesvc   -          queuesvc-0   waiting        3       20ms\n"
            "\n"
            "WATCH      STATE   VERSION   OBJECTS\n"
            "pods/job   ready   70        6\n");
}

TEST(TopologyViewTest, WhereItIsNarrowTheAddressGoesAndNoLineIsLonger) {
  const Topology topology = Parse(kBusy);
  for (const size_t width : {100u, 80u, 40u, 10u}) {
    const std::string text = FormatTopology(topology, width);
    EXPECT_LE(TableWidth(text), width);
  }
  EXPECT_THAT(FormatTopology(topology, 100), HasSubstr("10.0.0.1:1"));
  EXPECT_THAT(FormatTopology(topology, 80), Not(HasSubstr("10.0.0.1:1")));
  EXPECT_THAT(FormatTopology(topology, 80), HasSubstr("DIRTY\n")) << "what changes is still there";
}

TEST(TopologyViewTest, ReleasesAreShownWhileTheyDiffer) {
  gateway::v1::Topology topology = Parse(R"pb(version: "0.2.0"
                                              members { version: "0.2.0" }
                                              members {})pb");
  EXPECT_THAT(FormatTopology(topology, 0), Not(HasSubstr("RELEASE")));
  topology.mutable_members(0)->set_version("0.1.0");
  EXPECT_THAT(FormatTopology(topology, 0), AllOf(HasSubstr("DIRTY   RELEASE\n"), HasSubstr("0       0.1.0\n")));
}

TEST(TopologyViewTest, AStandbyNamesTheLeader) {
  EXPECT_THAT(
      FormatTopology(Parse(R"pb(gateway: "gateway-1" leader: "gateway-0" leader_address: "10.0.0.1:7700")pb"), 0),
      HasSubstr("standby, gateway-0 leads at 10.0.0.1:7700, epoch 0"));
  EXPECT_THAT(FormatTopology(Parse(R"pb(gateway: "gateway-1")pb"), 0), HasSubstr("standby, nobody is known to lead"));
}

constexpr char kSlots[] = R"pb(
  epoch: 9
  slots { first: 0 last: 3 replica: "jobsvc-0" epoch: 2 open: true }
  slots { first: 4 last: 4 replica: "jobsvc-1" epoch: 2 open: true }
  slots { first: 5 last: 6 replica: "jobsvc-0" epoch: 2 open: true }
  slots { first: 7 last: 8 replica: "jobsvc-0" epoch: 9 target: "jobsvc-1" }
  slots { first: 9 last: 1023 }
)pb";

TEST(TopologyViewTest, SlotsInTheSameHandsStandInOneLine) {
  EXPECT_EQ(FormatSlots(Parse(kSlots), gateway::v1::SERVICE_KIND_JOB, 0),
            "slots of jobsvc, epoch 9\n"
            "\n"
            "OWNER      SINCE EPOCH   STATE     MOVES TO   COUNT   SLOTS\n"
            "-          0             waiting   -          1015    9-1023\n"
            "jobsvc-0   2             open      -          6       0-3,5-6\n"
            "jobsvc-0   9             waiting   jobsvc-1   2       7-8\n"
            "jobsvc-1   2             open      -          1       4\n");
}

TEST(TopologyViewTest, OneSlotIsToldInWords) {
  const Topology topology = Parse(kSlots);
  const auto describe = [&](uint32_t slot) {
    return FormatSlot(*FindSlot(topology, slot), gateway::v1::SERVICE_KIND_JOB, slot, "ns/name");
  };
  EXPECT_EQ(describe(6), "ns/name is in slot 6 of jobsvc: jobsvc-0 has it since epoch 2, open\n");
  EXPECT_EQ(describe(8),
            "ns/name is in slot 8 of jobsvc: jobsvc-0 has it since epoch 9, waiting, it moves to jobsvc-1\n");
  EXPECT_EQ(describe(1023), "ns/name is in slot 1023 of jobsvc: nobody has it since epoch 0, waiting\n");
  EXPECT_EQ(FindSlot(Parse(""), 6), nullptr);
}

// A stranger who reaches the gateway's port may choose such a name.
TEST(TopologyViewTest, ATerminalObeysNoName) {
  Topology topology = Parse(kSlots);
  for (auto& slot : *topology.mutable_slots()) slot.set_replica("a\x1b]0;x\x07\r\xc2\x9b");
  topology.mutable_slots(0)->set_target("\xe2\x80\xae");
  topology.set_gateway("\x1b[2J");
  EXPECT_EQ(FormatSlot(topology.slots(0), gateway::v1::SERVICE_KIND_JOB, 0, "ns/\x1bname"),
            "ns/?name is in slot 0 of jobsvc: a?]0;x??? has it since epoch 2, open, it moves to ?\n");
  EXPECT_THAT(FormatTopology(topology, 0), testing::StartsWith("gateway ?[2J (version"));
  EXPECT_THAT(FormatSlots(topology, gateway::v1::SERVICE_KIND_JOB, 0), HasSubstr("a?]0;x???"));
}

TEST(TopologyViewTest, APictureFitsTheTerminal) {
  EXPECT_EQ(CutLines("a\nb\nc\n", 3), "a\nb\n");
  EXPECT_EQ(CutLines("a\nb\n", 3), "a\nb\n");
  EXPECT_EQ(CutLines("a\nb", 9), "a\nb");
  EXPECT_EQ(CutLines("a\nb\n", std::nullopt), "a\nb\n");
  EXPECT_EQ(CutLines("a\nb\n", 1), "");
  EXPECT_EQ(CutLines("a\nb\n", 0), "");
  EXPECT_EQ(FitHeight("a\nb\nc\n", std::nullopt, 80), "a\nb\nc\n");
  EXPECT_EQ(FitHeight("a\nb\nc\n", 4, 80), "a\nb\nc\n");
  EXPECT_EQ(FitHeight("a\nb\nc\n", 3, 80), "a\n2 more are not shown\n");
  EXPECT_EQ(FitHeight("a\nb\nc\n", 3, 80, 7), "a\n9 more are not shown\n");
  EXPECT_EQ(FitHeight("a\nb\nc\n", 1, 80), "3 more are not shown\n");
}

}  // namespace
}  // namespace basalt::cli
