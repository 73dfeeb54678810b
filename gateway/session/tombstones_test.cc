#include "gateway/session/tombstones.h"
#include "common/testing/proto_text.h"

#include <gtest/gtest.h>

#include "gateway/route/testing.h"
#include "gateway/session/testing.h"

namespace basalt::gateway {
namespace {

using namespace testing;  // NOLINT: builders only.

Departure Gone(const std::string& name, int64_t rv, v1::Tombstone::Reason reason, uint32_t slot = 3) {
  return {Bench::kJobPods,
          v1::SERVICE_KIND_JOB,
          slot,
          "ns/j",
          "uid-" + name,
          reason,
          std::make_shared<kube::v1::Object>(JobPod("j", name, rv))};
}

TEST(TombstonesTest, ATombstoneNewerThanTheAcknowledgedBatchStays) {
  Tombstones tombstones(1 << 20);
  const TombstoneKey key = tombstones.Add(Gone("p", 5, v1::Tombstone::REASON_LEFT));
  tombstones.SetSent(key, 1);
  tombstones.Add(Gone("p", 9, v1::Tombstone::REASON_LEFT));
  tombstones.Acknowledge(key, 1);
  EXPECT_EQ(tombstones.size(), 1u);
  tombstones.SetSent(key, 2);
  tombstones.Acknowledge(key, 2);
  EXPECT_EQ(tombstones.size(), 0u);
  EXPECT_EQ(tombstones.bytes(), 0u);
}

TEST(TombstonesTest, ADeletionOutweighsADepartureOfTheSameObject) {
  Bench bench;
  Tombstones tombstones(1 << 20);
  tombstones.Add(Gone("p", 5, v1::Tombstone::REASON_DELETED));
  const TombstoneKey key = tombstones.Add(Gone("p", 6, v1::Tombstone::REASON_LEFT));
  v1::Tombstone out;
  ASSERT_TRUE(tombstones.Fill(key, bench.cache, v1::SERVICE_KIND_JOB, out));
  EXPECT_EQ(out.reason(), v1::Tombstone::REASON_DELETED);
  EXPECT_EQ(out.last().pod().resource_version(), 6);
}

TEST(TombstonesTest, OverTheBoundOnlyTheFactRemains) {
  Bench bench;
  const size_t one = JobPod("j", "a", 5).ByteSizeLong();
  Tombstones tombstones(one);
  tombstones.Add(Gone("a", 5, v1::Tombstone::REASON_DELETED));
  const TombstoneKey key = tombstones.Add(Gone("b", 6, v1::Tombstone::REASON_DELETED));
  v1::Tombstone out;
  ASSERT_TRUE(tombstones.Fill(key, bench.cache, v1::SERVICE_KIND_JOB, out));
  EXPECT_TRUE(out.state_dropped());
  EXPECT_EQ(basalt::testing::LineOf(out.last()),
            "pod { namespace: \"ns\" name: \"b\" uid: \"uid-b\" resource_version: 6 }");
}

TEST(TombstonesTest, TombstonesForNobodyAreForgottenOverTheBound) {
  const size_t one = JobPod("j", "a", 5).ByteSizeLong();
  Tombstones tombstones(one, Tombstones::OverBound::kForget);
  const TombstoneKey kept = tombstones.Add(Gone("a", 5, v1::Tombstone::REASON_DELETED));
  tombstones.Add(Gone("b", 6, v1::Tombstone::REASON_DELETED));
  EXPECT_EQ(tombstones.OfSlot(3), std::vector{kept});
  EXPECT_EQ(tombstones.bytes(), one);
  tombstones.Clear();
  EXPECT_EQ(tombstones.size(), 0u);
  EXPECT_EQ(tombstones.bytes(), 0u);
}

TEST(TombstonesTest, TheOlderObjectOfANameIsReportedFirst) {
  Tombstones tombstones(1 << 20);
  Departure newer = Gone("a", 30, v1::Tombstone::REASON_DELETED);
  newer.seen_version = 16;
  Departure older = Gone("b", 30, v1::Tombstone::REASON_DELETED);
  older.seen_version = 8;
  const TombstoneKey second = tombstones.Add(newer);
  const TombstoneKey first = tombstones.Add(older);
  EXPECT_EQ(tombstones.OfSlot(3), (std::vector{first, second}));
}

TEST(TombstonesTest, ANewOwnerIsToldWhatTheOldOneDidNotAcknowledge) {
  Tombstones from(1 << 20), to(1 << 20);
  const TombstoneKey key = from.Add(Gone("p", 5, v1::Tombstone::REASON_DELETED, 3));
  from.Add(Gone("q", 6, v1::Tombstone::REASON_DELETED, 4));
  from.SetSent(key, 7);
  from.MoveSlot(3, to);
  EXPECT_EQ(from.size(), 1u);
  ASSERT_EQ(to.OfSlot(3), std::vector{key});
  to.Acknowledge(key, 7);
  EXPECT_EQ(to.size(), 1u) << "an acknowledgement of the old owner's stream";
}

}  // namespace
}  // namespace basalt::gateway
