#include "gateway/session/batch_encoder.h"

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "common/base/slots.h"

namespace basalt::gateway {
namespace {

v1::ObjectState State(uint32_t slot, std::string_view key, size_t name_size) {
  v1::ObjectState state;
  state.set_slot(slot);
  state.set_watch("pods/job");
  state.set_routing_key(std::string(key));
  state.mutable_object()->mutable_pod()->set_name(std::string(name_size, 'n'));
  return state;
}

TEST(BatchEncoderTest, ABatchIsReadAsItWasBuilt) {
  v1::AttachBatch meant;
  meant.set_sequence(7);
  meant.set_api_time_ms(1'767'366'245'000);
  meant.add_items()->mutable_begin()->set_slot(3);
  // The lengths take one, two and three bytes; the slots take none and five, among others.
  *meant.add_items()->mutable_state() = State(0, "", 0);
  *meant.add_items()->mutable_state() = State(1023, "ns/train", 300);
  *meant.add_items()->mutable_state() = State(kBroadcastSlot, std::string(200, 'k'), 70'000);
  meant.add_items()->mutable_end()->set_slot(3);

  BatchEncoder encoder;
  for (const v1::Item& item : meant.items()) {
    const size_t before = encoder.bytes();
    if (item.has_state()) {
      const v1::ObjectState& state = item.state();
      encoder.AddState(state.slot(), state.watch(), state.routing_key(), state.object().SerializeAsString());
    } else {
      encoder.Add(item);
    }
    EXPECT_GT(encoder.bytes(), before);
  }
  EXPECT_EQ(encoder.items(), meant.items_size());
  v1::AttachBatch read;
  ASSERT_TRUE(read.ParseFromString(encoder.Finish(7, 1'767'366'245'000)));
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(read, meant)) << read.ShortDebugString();
  EXPECT_EQ(encoder.items(), 0);
  EXPECT_EQ(encoder.bytes(), 0u);
}

TEST(BatchEncoderTest, ABatchWithoutItemsHasItsNumbers) {
  v1::AttachBatch read;
  ASSERT_TRUE(read.ParseFromString(BatchEncoder().Finish(1, 2)));
  EXPECT_EQ(read.sequence(), 1);
  EXPECT_EQ(read.api_time_ms(), 2);
  EXPECT_EQ(read.items_size(), 0);
}

}  // namespace
}  // namespace basalt::gateway
