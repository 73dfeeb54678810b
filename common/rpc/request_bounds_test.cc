#include "common/rpc/request_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include <google/protobuf/text_format.h>

#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/job/v1/job_part.pb.h"
#include "basalt/podgroup/v1/pod_group_part.pb.h"
#include "basalt/queue/v1/queue_part.pb.h"
#include "basalt/replica/v1/replica.pb.h"
#include "common/base/slot_set.h"
#include "common/testing/status_matchers.h"

namespace basalt::rpc {
namespace {

using ::testing::HasSubstr;

template <typename Request>
std::unique_ptr<google::protobuf::Message> Of(const std::string& text) {
  auto request = std::make_unique<Request>();
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, request.get())) << text;
  return request;
}

TEST(RequestBoundsTest, WhatIsNoSlotIsRefusedWhereverASlotMayBe) {
  const struct {
    std::unique_ptr<google::protobuf::Message> request;
    std::string message;
  } rows[] = {
      {Of<replica::v1::HandOverRequest>("slots { slot: 1023 } slots { slot: 1024 }"),
       "slots[1].slot: is 1024; slots are 0 to 1023"},
      {Of<gateway::v1::WriteRequest>("owner { slot: 65975 }"), "owner.slot: is 65975; slots are 0 to 1023"},
      {Of<gateway::v1::GetRequest>("owner { slot: 65975 }"), "owner.slot: is 65975; slots are 0 to 1023"},
      {Of<gateway::v1::AttachRequest>("hello { held { slots: 3 } held { slots: [4, 4294967295] } }"),
       "hello.held[1].slots[1]: is 4294967295; slots are 0 to 1023"},
      {Of<gateway::v1::AttachRequest>("released { slots: 1024 }"), "released.slots[0]: is 1024; slots are 0 to 1023"},
      {Of<gateway::v1::AttachRequest>("taken { slots: 1024 }"), "taken.slots[0]: is 1024; slots are 0 to 1023"},
      {Of<gateway::v1::AttachRequest>("taken { lost: 1024 }"), "taken.lost[0]: is 1024; slots are 0 to 1023"},
      {Of<gateway::v1::AttachRequest>("cleared { held { slots: 1024 } }"),
       "cleared.held[0].slots[0]: is 1024; slots are 0 to 1023"},
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
  replica::v1::HandOverRequest hand_over;
  for (uint32_t slot = 0; slot < kSlotCount; ++slot) {
    if (slot == 0) hello.mutable_hello()->add_held();
    hello.mutable_hello()->mutable_held(0)->add_slots(slot);
    hand_over.add_slots()->set_slot(slot);
  }
  EXPECT_THAT(CheckRequest(hello), testing::IsOk());
  EXPECT_THAT(CheckRequest(hand_over), testing::IsOk());
  job::v1::ListPartRequest part;
  part.set_slots(SlotSet::All().ToBytes());
  EXPECT_THAT(CheckRequest(part), testing::IsOk());
}

}  // namespace
}  // namespace basalt::rpc
