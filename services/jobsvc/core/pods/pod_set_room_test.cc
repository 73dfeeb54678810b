// The memory of a job depends on the pods that it has and on its finished work, not on the pods that its spec calls
// for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "services/jobsvc/core/pods/places/pod_slots.h"
#include "services/jobsvc/core/pods/pod_set.h"
#include "services/jobsvc/core/pods/testing.h"

namespace basalt::jobsvc {
namespace {

using testing::MakePod;
using testing::MakePodSet;
using testing::PlacesOf;

constexpr int32_t kMany = 200'000;
constexpr size_t kGroup = PodSlots::kNeighbours;
constexpr auto kRunning = kube::v1::POD_PHASE_RUNNING;
constexpr auto kSucceeded = kube::v1::POD_PHASE_SUCCEEDED;

std::string NameOf(int32_t index) { return fmt::format("j-a-{}", index); }
std::string UidOf(int32_t index) { return fmt::format("u{}", index); }
void See(PodSet& pods, int32_t index, kube::v1::PodPhase phase = kRunning) {
  pods.Apply(MakePod(NameOf(index), UidOf(index), phase));
}

TEST(PodSetRoomTest, AJobWithoutPodsTakesNoneWhateverItAsksFor) {
  PodSet pods = MakePodSet({{"a", kMany, 0, 1}, {"b", 0}, {"c", kMany, 0, 1, {0}}});
  const auto expect_nothing = [&](int32_t a) {
    EXPECT_EQ(pods.room(), 0u);
    EXPECT_EQ(pods.missing().ranges(), 2u);
    EXPECT_EQ(pods.missing().size(), static_cast<size_t>(a) + kMany);
    EXPECT_EQ(pods.shape().total(), int64_t{a} + kMany);
    EXPECT_EQ(pods.facts().startable(), (std::set<int32_t>{0}));
    EXPECT_TRUE(pods.facts().MissesPods(2));
  };
  expect_nothing(kMany);
  PodRules rules;
  rules.version = 1;
  pods.SetRules(rules);
  expect_nothing(kMany);
  EXPECT_EQ(pods.Find(NameOf(kMany - 1)), nullptr);
  EXPECT_FALSE(pods.Remove(NameOf(7), UidOf(7)).before.present());
  pods.AddFlag(NameOf(7), kPodAnswered);
  pods.SetSucceededGone({0, 7}, false);
  expect_nothing(kMany);
  pods.SetTasks({{"a", kMany / 2, 0, 1}, {"b", 0}, {"c", kMany, 0, 1, {0}}});
  expect_nothing(kMany / 2);
}

TEST(PodSetRoomTest, RoomComesAndGoesWithPods) {
  PodSet pods = MakePodSet({{"a", kMany}});
  for (int32_t index = 0; index < PodSlots::kNeighbours; ++index) See(pods, index);
  EXPECT_EQ(pods.room(), kGroup);
  EXPECT_EQ(pods.missing().ranges(), 1u);
  See(pods, PodSlots::kNeighbours);
  EXPECT_EQ(pods.room(), 2 * kGroup);
  See(pods, kMany - 1);
  EXPECT_EQ(pods.room(), 3 * kGroup);
  EXPECT_EQ(pods.known(), kGroup + 2);
  EXPECT_EQ(pods.missing().size(), kMany - kGroup - 2);
  EXPECT_EQ(pods.missing().ranges(), 1u);
  for (int32_t index = 0; index < PodSlots::kNeighbours; ++index) pods.Remove(NameOf(index), UidOf(index));
  EXPECT_EQ(pods.room(), 2 * kGroup);
  EXPECT_EQ(pods.missing().ranges(), 2u);
  pods.Remove(NameOf(PodSlots::kNeighbours), UidOf(PodSlots::kNeighbours));
  pods.Remove(NameOf(kMany - 1), UidOf(kMany - 1));
  EXPECT_EQ(pods.room(), 0u);
  EXPECT_EQ(pods.missing().ranges(), 1u);
  EXPECT_EQ(pods.missing().size(), static_cast<size_t>(kMany));
}

TEST(PodSetRoomTest, NoMoreThanTheTaskHas) {
  PodSet pods = MakePodSet({{"a", 3}});
  See(pods, 1);
  EXPECT_EQ(pods.room(), 3u);
  pods.SetTasks({{"a", PodSlots::kNeighbours + 2}});
  EXPECT_EQ(pods.room(), kGroup);
  See(pods, PodSlots::kNeighbours + 1);
  EXPECT_EQ(pods.room(), kGroup + 2);
  pods.SetTasks({{"a", 1}});
  EXPECT_EQ(pods.room(), 0u) << "what has no index is not kept by index";
  EXPECT_EQ(pods.known(), 2u);
  EXPECT_EQ(PlacesOf(pods.missing()), (std::vector<PodIndex>{{0, 0}}));
}

TEST(PodSetRoomTest, WorkThatIsDoneIsKeptUntilItIsToBeDoneAgain) {
  PodSet pods = MakePodSet({{"a", kMany}});
  See(pods, 100, kSucceeded);
  pods.Remove(NameOf(100), UidOf(100));
  pods.SetSucceededGone({0, kMany - 1}, true);
  EXPECT_EQ(pods.room(), 2 * kGroup);
  EXPECT_EQ(pods.counts().succeeded(), 2);
  EXPECT_EQ(pods.missing().size(), static_cast<size_t>(kMany) - 2);
  EXPECT_EQ(pods.missing().ranges(), 2u);
  pods.SetSucceededGone({0, kMany - 1}, false);
  EXPECT_EQ(pods.room(), kGroup);
  // The kill retains nothing, so the other index is to be done again, too.
  PodRules rules;
  rules.version = 1;
  rules.delete_terminal_below = 1;
  pods.SetRules(rules);
  EXPECT_EQ(pods.missing().size(), static_cast<size_t>(kMany));
  EXPECT_EQ(pods.missing().ranges(), 1u);
  EXPECT_EQ(pods.counts().succeeded(), 0);
  pods.Apply(MakePod(NameOf(100), "new", kRunning, 1));
  EXPECT_EQ(pods.missing().size(), static_cast<size_t>(kMany) - 1);
  pods.Remove(NameOf(100), "new");
  EXPECT_EQ(pods.missing().ranges(), 1u);
  EXPECT_EQ(pods.room(), 0u);
}

}  // namespace
}  // namespace basalt::jobsvc
