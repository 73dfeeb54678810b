#include "common/rpc/request_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <google/protobuf/text_format.h>

#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/job/v1/job_part.pb.h"
#include "basalt/podgroup/v1/pod_group_part.pb.h"
#include "basalt/podgroup/v1/podgroup.pb.h"
#include "basalt/queue/v1/queue_part.pb.h"
#include "basalt/replica/v1/replica.pb.h"
#include "common/base/slot_set.h"
#include "common/testing/status_matchers.h"
#include "common/watch/watch_token.h"

namespace basalt::rpc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

template <typename Request>
std::unique_ptr<google::protobuf::Message> Of(const std::string& text) {
  auto request = std::make_unique<Request>();
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, request.get())) << text;
  return request;
}

TEST(RequestBoundsTest, ANumberThatIsNoSlotIsRefusedEverywhere) {
  const struct {
    std::unique_ptr<google::protobuf::Message> request;
    std::string message;
  } rows[] = {
      {Of<replica::v1::ExportRecordsRequest>("slots { slot: 1023 } slots { slot: 1024 }"),
       "slots[1].slot: is 1024; slots are 0 to 1023"},
      {Of<gateway::v1::WriteRequest>("owner { slot: 65975 }"), "owner.slot: is 65975; slots are 0 to 1023"},
      {Of<gateway::v1::GetRequest>("owner { slot: 65975 }"), "owner.slot: is 65975; slots are 0 to 1023"},
      {Of<gateway::v1::AttachRequest>(
           "hello { record_inventory { slots: 3 } record_inventory { slots: [4, 4294967295] } }"),
       "hello.record_inventory[1].slots[1]: is 4294967295; slots are 0 to 1023"},
      {Of<gateway::v1::AttachRequest>("released { slots: 1024 }"), "released.slots[0]: is 1024; slots are 0 to 1023"},
      {Of<gateway::v1::AttachRequest>("records_imported { slots: 1024 }"),
       "records_imported.slots[0]: is 1024; slots are 0 to 1023"},
      {Of<gateway::v1::AttachRequest>("records_imported { unavailable: 1024 }"),
       "records_imported.unavailable[0]: is 1024; slots are 0 to 1023"},
      {Of<gateway::v1::AttachRequest>("orphans_removed { inventory { slots: 1024 } }"),
       "orphans_removed.inventory[0].slots[0]: is 1024; slots are 0 to 1023"},
      {Of<job::v1::ListPartRequest>("slots: 'abc'"), "slots: has 3 bytes; 128 have a bit for each slot"},
      {Of<queue::v1::ListPartRequest>("slots: 'abc'"), "slots: has 3 bytes; 128 have a bit for each slot"},
      {Of<podgroup::v1::ListPartRequest>("slots: 'abc'"), "slots: has 3 bytes; 128 have a bit for each slot"},
      {Of<job::v1::WatchPartRequest>("slots: 'abc'"), "slots: has 3 bytes; 128 have a bit for each slot"},
      {Of<queue::v1::WatchPartRequest>("since { slot: 1024 }"), "since[0].slot: is 1024; slots are 0 to 1023"},
      {Of<podgroup::v1::WatchPartRequest>("since { slot: 1024 }"), "since[0].slot: is 1024; slots are 0 to 1023"},
  };
  for (const auto& row : rows) {
    EXPECT_THAT(CheckRequest(*row.request),
                testing::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(row.message)));
  }
}

TEST(RequestBoundsTest, EverySlotIsOne) {
  gateway::v1::AttachRequest hello;
  replica::v1::ExportRecordsRequest hand_over;
  for (uint32_t slot = 0; slot < kSlotCount; ++slot) {
    if (slot == 0) hello.mutable_hello()->add_record_inventory();
    hello.mutable_hello()->mutable_record_inventory(0)->add_slots(slot);
    hand_over.add_slots()->set_slot(slot);
  }
  EXPECT_THAT(CheckRequest(hello), testing::IsOk());
  EXPECT_THAT(CheckRequest(hand_over), testing::IsOk());
  job::v1::ListPartRequest part;
  part.set_slots(SlotSet::All().ToBytes());
  EXPECT_THAT(CheckRequest(part), testing::IsOk());
}

TEST(RequestBoundsTest, AFieldBeyondItsBoundIsNamedWithTheBound) {
  const std::string name(254, 'n');
  const auto job = [](auto change) {
    auto request = std::make_unique<job::v1::ListJobsRequest>();
    change(*request);
    return request;
  };
  const auto hello = [](auto change) {
    auto request = std::make_unique<gateway::v1::AttachRequest>();
    change(*request->mutable_hello());
    return request;
  };
  const struct {
    std::unique_ptr<google::protobuf::Message> request;
    std::string message;
  } rows[] = {
      {job([&](auto& r) { r.set_namespace_(name); }), "namespace: has 254 bytes; it may have 253"},
      {job([](auto& r) { r.set_label_selector(std::string(65'537, 's')); }),
       "label_selector: has 65537 bytes; it may have 65536"},
      {job([](auto& r) {
         for (int i = 0; i < 1025; ++i) r.add_phases(kube::v1::JOB_PHASE_RUNNING);
       }),
       "phases: has 1025 entries; it may have 1024"},
      {hello([&](auto& h) { h.mutable_self()->set_replica(name); }), "hello.self.replica: has 254 bytes"},
      {hello([](auto& h) { h.set_name_secret(std::string(254, 't')); }),
       "hello.name_secret: has 254 bytes; it may have 253"},
      {hello([](auto& h) {
         for (int i = 0; i < 1025; ++i) h.add_record_inventory();
       }),
       "hello.record_inventory: has 1025 entries; it may have 1024"},
      {Of<gateway::v1::AttachRequest>("interest { watch: 'persistentvolumeclaims' name: '" + name + "' }"),
       "interest.name: has 254 bytes"},
      {Of<replica::v1::ExportRecordsRequest>("source { address: '" + name + ":12345' }"),
       "source.address: has 260 bytes; it may have 259"},
  };
  for (const auto& row : rows) {
    EXPECT_THAT(CheckRequest(*row.request),
                testing::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(row.message)));
  }
}

TEST(RequestBoundsTest, ARequestIsBoundedAsAWholeWithWhatNobodyKnowsOfIt) {
  job::v1::GetJobRequest request;
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(99, std::string(5 << 20, 'u'));
  EXPECT_THAT(CheckRequest(request),
              testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                AllOf(HasSubstr("GetJobRequest has 52428"), HasSubstr("it may have 4194304"))));
}

// Each value is as large as a legitimate one can be.
TEST(RequestBoundsTest, LargeFieldsHaveBoundsOfTheirOwn) {
  job::v1::SubmitJobRequest submit;
  submit.set_manifest_json(std::string(3 << 20, 'm'));
  EXPECT_THAT(CheckRequest(submit), testing::IsOk());
  gateway::v1::WriteRequest write;
  write.mutable_owner()->set_key(std::string(253, 'a') + "/" + std::string(253, 'b'));
  write.mutable_create()->set_body(std::string(3 << 20, 'b'));
  EXPECT_THAT(CheckRequest(write), testing::IsOk());
  job::v1::WatchJobsRequest watch;
  watch.set_token(watch::MakeWatchToken(std::vector<watch::WatchPosition>(kSlotCount, {~uint64_t{0}, INT64_MAX})));
  EXPECT_THAT(CheckRequest(watch), testing::IsOk()) << watch.token().size();
  podgroup::v1::EnsurePodGroupRequest ensure;
  for (int i = 0; i < 20'000; ++i) ensure.mutable_spec()->add_min_task_member()->set_task("task");
  EXPECT_THAT(CheckRequest(ensure), testing::IsOk());
}

}  // namespace
}  // namespace basalt::rpc
