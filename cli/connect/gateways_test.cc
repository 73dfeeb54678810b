// The topology command against real gRPC servers whose answers the test sets.
#include "cli/connect/gateways.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/connect/served_fixture.h"
#include "common/base/slots.h"

namespace basalt::cli {
namespace {

using gateway::v1::Topology;
using ::testing::HasSubstr;

class GatewaysTest : public ServedTest {
 protected:
  std::string ServeLeader() {
    Topology topology;
    topology.set_gateway("gateway-0");
    topology.set_leads(true);
    topology.set_epoch(4);
    gateway::v1::SlotRange& range = *topology.add_slots();
    range.set_last(kSlotCount - 1);
    range.set_replica("jobsvc-1");
    range.set_epoch(3);
    range.set_open(true);
    return Serve(std::make_unique<FixedTopologyGateway>(topology));
  }
  std::string ServeStandby(const std::string& leader_address) {
    Topology topology;
    topology.set_gateway("gateway-1");
    topology.set_leader("gateway-0");
    topology.set_leader_address(leader_address);
    return Serve(std::make_unique<FixedTopologyGateway>(topology));
  }
  static Ran Run(std::vector<const char*> words) {
    words.insert(words.begin(), "basaltctl");
    return Captured([&] { return Main(static_cast<int>(words.size()), words.data()); });
  }
};

TEST_F(GatewaysTest, AStandbyLeadsToTheLeader) {
  const std::string standby = ServeStandby(ServeLeader());
  EXPECT_EQ(AskTopology(standby)->topology.gateway(), "gateway-0");
  EXPECT_EQ(AskTopology(standby)->note, "");
  const auto unfollowed = AskTopology(standby, {.follow = false});
  EXPECT_EQ(unfollowed->topology.gateway(), "gateway-1");
  EXPECT_THAT(unfollowed->note, HasSubstr("gateway-0 leads, at 127.0.0.1:"));
}

TEST_F(GatewaysTest, WhereTheLeaderDoesNotAnswerTheStandbyTellsWhatItKnows) {
  const auto answer = AskTopology(ServeStandby("127.0.0.1:1"));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->topology.gateway(), "gateway-1");
  EXPECT_THAT(answer->note, HasSubstr("gateway-0 leads, at 127.0.0.1:1, and does not answer ("));
  EXPECT_THAT(answer->note, HasSubstr("this is what gateway-1 knows"));
}

TEST_F(GatewaysTest, GatewaysAreAskedUntilOneAnswers) {
  const std::string leader = ServeLeader();
  EXPECT_EQ(FetchTopology("127.0.0.1:1," + leader)->gateway(), "gateway-0");
  const std::string port = leader.substr(leader.find(':') + 1);
  EXPECT_EQ(FetchTopology(fmt::format("dns:///a..b:1,dns:///127.0.0.1:{}", port))->gateway(), "gateway-0");
}

TEST_F(GatewaysTest, AnErrorNamesEveryGatewayThatWasAskedAndWhatToDo) {
  const auto topology = FetchTopology("127.0.0.1:1,dns:///a..b:7");
  EXPECT_EQ(topology.status().code(), absl::StatusCode::kUnavailable);
  for (const char* words : {"the gateway at 127.0.0.1:1 does not answer",
                            "a..b cannot be looked up: ", "name it with --gateway or BASALT_GATEWAY"}) {
    EXPECT_THAT(std::string(topology.status().message()), HasSubstr(words));
  }
  EXPECT_THAT(std::string(FetchTopology("nowhere").status().message()), HasSubstr("--gateway: 'nowhere' has no port"));
}

TEST_F(GatewaysTest, TheCommandShowsTheLeadersView) {
  const std::string standby = ServeStandby(ServeLeader());
  Ran ran = Run({"--gateway", standby.c_str(), "topology"});
  EXPECT_EQ(ran.exit_code, kExitDone) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("gateway gateway-0 (version ), leads, epoch 4"));
  ran = Run({"--gateway", standby.c_str(), "topology", "--no-follow"});
  EXPECT_THAT(ran.out, ::testing::StartsWith("gateway-0 leads, at "));
  EXPECT_THAT(ran.out, HasSubstr("gateway gateway-1 (version ), standby"));
  ran = Run({"--gateway", standby.c_str(), "topology", "-o", "json"});
  EXPECT_THAT(ran.out, HasSubstr("\"leads\": true"));
}

TEST_F(GatewaysTest, AKeyIsToldWithItsSlotAndOwner) {
  const std::string leader = ServeLeader();
  struct Row {
    std::vector<const char*> words;
    std::string out;
  };
  const Row rows[] = {
      {{"--key", "ns/name"},
       fmt::format("ns/name is in slot {} of jobsvc: jobsvc-1 has it since epoch 3, open\n", SlotOf("ns/name"))},
      {{"--key", "name", "-n", "other"}, fmt::format("other/name is in slot {} of jobsvc", SlotOf("other/name"))},
      {{"--key", "a/b", "--slots", "pgsvc"}, fmt::format("a/b is in slot {} of pgsvc", SlotOf("a/b"))},
      {{"--key", "q", "--slots", "queuesvc"}, fmt::format("q is in slot {} of queuesvc", SlotOf("q"))},
      {{"--key", "ns/name", "-o", "json"}, fmt::format("\"first\": {}", SlotOf("ns/name"))},
      {{"--slots", "jobsvc"}, "jobsvc-1   3             open    -          1024    0-1023"},
  };
  for (const Row& row : rows) {
    std::vector<const char*> words = {"--gateway", leader.c_str(), "topology"};
    words.insert(words.end(), row.words.begin(), row.words.end());
    const Ran ran = Run(words);
    EXPECT_EQ(ran.exit_code, kExitDone) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr(row.out));
  }
}

TEST_F(GatewaysTest, BadFlagsNameValueAndRuleAndNothingIsAsked) {
  const std::string leader = ServeLeader();
  struct Row {
    std::vector<const char*> words;
    const char* err;
  };
  const Row rows[] = {
      {{"--slots", "jobs"}, "--slots"},
      {{"--key", "a/b/c"}, "--key: 'a/b/c' is not NAMESPACE/NAME"},
      {{"--key", "a/b", "--slots", "queuesvc"}, "--key: 'a/b' is not a queue's name"},
      {{"--key", "a/b", "--watch"}, "--key and --watch do not go together"},
  };
  for (const Row& row : rows) {
    std::vector<const char*> words = {"--gateway", leader.c_str(), "topology"};
    words.insert(words.end(), row.words.begin(), row.words.end());
    const Ran ran = Run(words);
    EXPECT_EQ(ran.exit_code, kExitBadInput) << ran.out;
    EXPECT_THAT(ran.err, HasSubstr(row.err));
  }
}

TEST_F(GatewaysTest, AGatewayThatKnowsNoSlotsSaysSo) {
  const std::string standby = ServeStandby("");
  const Ran ran = Run({"--gateway", standby.c_str(), "topology", "--slots", "jobsvc"});
  EXPECT_EQ(ran.exit_code, kExitRefused);
  EXPECT_THAT(ran.err, HasSubstr("gateway gateway-1 does not say who has which slot"));
}

}  // namespace
}  // namespace basalt::cli
