// A group of many pods: a bounded number of pods is linked at a time, and all of them in the end.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "services/pgsvc/control/group/due_queue.h"
#include "services/pgsvc/control/group/group_entry.h"
#include "services/pgsvc/testing/namespace_rig.h"
#include "services/pgsvc/testing/plain_rig.h"

namespace basalt::pgsvc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kPods = 3 * ScopeLinks::kMostUnderWay;

// The most patches of pods that were sent at one time: answers come later than that.
size_t MostAtOnce(NamespaceRig& rig, const std::function<void()>& make) {
  std::map<absl::Time, size_t> sent;
  rig.fate = [&](const gateway::v1::WriteRequest& request) {
    if (request.resource().plural() == "pods") ++sent[rig.time().Now()];
    return basalt::testing::Fate::kNormal;
  };
  make();
  rig.Run(absl::Minutes(1));
  rig.fate = nullptr;
  size_t most = 0, all = 0;
  for (const auto& [time, count] : sent) {
    most = std::max(most, count);
    all += count;
  }
  EXPECT_EQ(all, size_t{kPods}) << "each pod is linked once";
  return most;
}

size_t MostOfAJob(NamespaceRig& rig) {
  rig.Start();
  return MostAtOnce(rig, [&rig] {
    rig.Make(kube::kBatchJobs, NamespaceRig::JobOf("j", "annotations: {kai.scheduler/batch-min-member: '2'}"));
    for (int i = 0; i < kPods; ++i) rig.MakePod(fmt::format("j-{}", i), &kube::kBatchJobs, "j");
  });
}

TEST(LinkBoundTest, ManyPodsOfAGroupAreLinkedSomeAtATime) {
  NamespaceRig kai;
  EXPECT_EQ(MostOfAJob(kai), ScopeLinks::kMostUnderWay);
  RichRig rich;
  EXPECT_EQ(MostOfAJob(rich), ScopeLinks::kMostUnderWay);
  PlainRig compat;
  EXPECT_EQ(MostAtOnce(compat,
                       [&compat] {
                         compat.MakeSet(kube::kReplicaSets, "web", kPods);
                         const std::string owner =
                             fmt::format("apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: {}",
                                         compat.UidOf(kube::kReplicaSets, "web"));
                         for (int i = 0; i < kPods; ++i) compat.MakePlainPod(fmt::format("web-{}", i), owner);
                       }),
            ScopeLinks::kMostUnderWay);
}

// However many groups wait, a pass looks at those that are due.
TEST(DueQueueTest, NamesComeWhenTheyAreDueAndNotBefore) {
  const absl::Time begin = absl::FromUnixSeconds(100);
  const auto at = [begin](int seconds) { return begin + absl::Seconds(seconds); };
  DueQueue queue;
  EXPECT_EQ(queue.next(), absl::InfiniteFuture());
  queue.Add("late", at(9));
  queue.Add("early", at(3));
  queue.Add("both", at(8));
  queue.Add("both", at(4));
  queue.Add("both", at(7));
  EXPECT_EQ(queue.next(), at(3));
  std::set<std::string> due;
  queue.TakeDue(at(2), due);
  EXPECT_THAT(due, IsEmpty());
  queue.TakeDue(at(4), due);
  EXPECT_THAT(due, ElementsAre("both", "early")) << "the earliest of the times that were given";
  EXPECT_FALSE(queue.contains("both"));
  EXPECT_EQ(queue.next(), at(9));
}

}  // namespace
}  // namespace basalt::pgsvc
