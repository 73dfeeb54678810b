#include "services/pgsvc/core/empty_group.h"

#include <gtest/gtest.h>

#include <string>

#include "common/kube/names.h"

namespace basalt::pgsvc {
namespace {

constexpr char kName[] = "podgroup-11111111-2222-4333-8444-555555555555";

kube::v1::OwnerReference Reference(const std::string& api_version, const std::string& kind, bool is_controller = true) {
  kube::v1::OwnerReference owner;
  owner.set_api_version(api_version);
  owner.set_kind(kind);
  owner.set_name("x");
  owner.set_controller(is_controller);
  return owner;
}

kube::v1::PodGroup GroupOf(const kube::v1::OwnerReference& owner, const std::string& name = kName) {
  kube::v1::PodGroup group;
  group.mutable_meta()->set_name(name);
  *group.mutable_meta()->add_owner_references() = owner;
  return group;
}

TEST(EmptyGroupTest, AGroupIsMadeForPodsWhereNoJobAskedForIt) {
  const kube::v1::OwnerReference set = Reference("apps/v1", "ReplicaSet");
  EXPECT_TRUE(IsMadeForPods(GroupOf(set)));
  EXPECT_TRUE(IsMadeForPods(GroupOf(Reference("batch/v1", "Job"))));
  EXPECT_FALSE(IsMadeForPods(GroupOf(Reference("batch.volcano.sh/v1alpha1", "Job")))) << "of upstream's, too";
  EXPECT_FALSE(IsMadeForPods(GroupOf(set, "podgroup-of-a-user")));
  EXPECT_FALSE(IsMadeForPods(GroupOf(set, "spark-x")));
  kube::v1::PodGroup of_job = GroupOf(set);
  of_job.mutable_meta()->clear_owner_references();
  EXPECT_TRUE(IsMadeForPods(of_job));
  kube::v1::KeyValue& version = *of_job.mutable_meta()->add_annotations();
  version.set_key(std::string(kube::kBasaltVersionKey));
  version.set_value("0");
  EXPECT_FALSE(IsMadeForPods(of_job)) << "a job whose reference somebody has taken away";
}

TEST(EmptyGroupTest, WhoMakesGroupsOfItsOwnIsKnownByGroupAndKind) {
  struct Case {
    kube::v1::OwnerReference owner;
    const char* maker;
  };
  const Case cases[] = {{Reference("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"), "LeaderWorkerSet x"},
                        {Reference("leaderworkerset.x-k8s.io/v2", "LeaderWorkerSet"), "LeaderWorkerSet x"},
                        {Reference("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", false), ""},
                        {Reference("example.com/v1", "LeaderWorkerSet"), ""},
                        {Reference("v1", "Pod"), "Pod x"},
                        {Reference("apps/v1", "Deployment"), ""}};
  for (const Case& test : cases) {
    kube::v1::ObjectMeta meta;
    *meta.add_owner_references() = test.owner;
    EXPECT_EQ(MakerOfGroups(meta.owner_references()), test.maker) << test.owner.DebugString();
  }
}

TEST(EmptyGroupTest, AnEmptyGroupStaysWhereItsOwnerWantsPods) {
  kube::v1::Workload wants_pods;
  wants_pods.set_replicas(2);
  kube::v1::Workload wants_none;
  wants_none.set_replicas(0);
  kube::v1::Workload is_over;
  is_over.set_parallelism(2);
  is_over.set_finished(true);
  kube::v1::Workload of_lws = wants_pods;
  *of_lws.mutable_meta()->add_owner_references() = Reference("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet");
  struct Case {
    const char* what;
    const kube::v1::Workload* owner;
    bool have_pods_moved;
    bool is_for_nothing;
  };
  const Case cases[] = {{"of a pod or of a kind that is not shown", nullptr, false, true},
                        {"pods are to come", &wants_pods, false, false},
                        {"pods name another group", &wants_pods, true, true},
                        {"no pods are to come", &wants_none, false, true},
                        {"a Job that has ended", &is_over, false, true},
                        {"pods will have groups of the LeaderWorkerSet", &of_lws, false, true}};
  const kube::v1::PodGroup group = GroupOf(Reference("apps/v1", "StatefulSet"));
  EXPECT_FALSE(IsForNothing({.group = group, .are_workloads_shown = false})) << "nobody knows";
  EXPECT_TRUE(IsForNothing({.group = group, .are_workloads_shown = false, .have_pods_moved = true}));
  EXPECT_TRUE(IsForNothing({.group = GroupOf(Reference("v1", "Pod")), .are_workloads_shown = false}));
  const kube::v1::PodGroup of_job = GroupOf(Reference("batch.volcano.sh/v1alpha1", "Job"));
  for (const Case& test : cases) {
    EXPECT_EQ(IsForNothing({.group = group, .owner = test.owner, .have_pods_moved = test.have_pods_moved}),
              test.is_for_nothing)
        << test.what;
    EXPECT_FALSE(IsForNothing({.group = of_job, .owner = test.owner, .have_pods_moved = test.have_pods_moved}));
  }
}

}  // namespace
}  // namespace basalt::pgsvc
