#include "gateway/kube/write/admission_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace basalt::gateway {
namespace {

using ::testing::HasSubstr;

TEST(RoomTest, ASenderHasItsShareAndLeavesTheRestToOthers) {
  AdmissionLimit room({.max_requests = 8, .max_bytes = 1000, .share = 0.5});
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(room.Take("a", 1).ok());
  const absl::Status full = room.Take("a", 1);
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(full.message()), HasSubstr("4 requests with 4 bytes of 'a' wait"));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(room.Take("b", 1).ok());
  EXPECT_THAT(std::string(room.Take("c", 1).message()), HasSubstr("of all replicas"));
  room.Give("a", 1);
  EXPECT_TRUE(room.Take("c", 1).ok());
  EXPECT_EQ(room.requests(), 8u);
}

TEST(RoomTest, BytesCountAsRequestsDo) {
  AdmissionLimit room({.max_requests = 100, .max_bytes = 1000, .share = 0.5});
  EXPECT_TRUE(room.Take("a", 400).ok());
  EXPECT_THAT(std::string(room.Take("a", 101).message()), HasSubstr("bytes"));
  EXPECT_TRUE(room.Take("a", 100).ok());
  EXPECT_TRUE(room.Take("b", 500).ok());
  EXPECT_FALSE(room.Take("c", 1).ok());
  room.Give("a", 400);
  room.Give("a", 100);
  EXPECT_TRUE(room.Take("c", 1).ok());
  EXPECT_EQ(room.bytes(), 501u);
}

TEST(RoomTest, OneRequestHasRoomHoweverLargeItIs) {
  AdmissionLimit room({.max_requests = 8, .max_bytes = 10, .share = 0.5});
  EXPECT_TRUE(room.Take("a", 5000).ok());
  EXPECT_FALSE(room.Take("b", 1).ok());
  room.Give("a", 5000);
  EXPECT_TRUE(room.Take("b", 1).ok());
}

}  // namespace
}  // namespace basalt::gateway
