// Groups that go while their pods live: with an owner that leaves its pods behind, or because something else deletes
// them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "services/pgsvc/testing/plain_rig.h"

namespace basalt::pgsvc {
namespace {

using ::testing::IsEmpty;

// A StatefulSet db of two pods in the queue research.
class DatabaseRig : public PlainRig {
 public:
  DatabaseRig() {
    MakeSet(kube::kStatefulSets, "db", 2,
            ", annotations: {scheduling.volcano.sh/queue-name: research, scheduling.volcano.sh/group-min-member: '2'}");
    for (const char* pod : {"db-0", "db-1"}) MakePlainPod(pod, OwnerOf(kube::kStatefulSets, "db"));
    Run(absl::Seconds(5));
    group = "podgroup-" + UidOf(kube::kStatefulSets, "db");
  }

  // Kubernetes removes the owner references from group and pods, and then deletes the StatefulSet.
  void Orphan() {
    server().Delete(kube::kStatefulSets, "default", "db", json::object{{"propagationPolicy", "Orphan"}});
  }
  void ExpectThatPodsHaveTheirGroup() {
    EXPECT_EQ(PlainGroups(), 1u);
    EXPECT_NE(UidOf(kube::kPodGroups, group), "");
    for (const char* pod : {"db-0", "db-1"}) EXPECT_EQ(PlainGroupOf(pod), group);
    EXPECT_EQ(FindString(PlainGroup(group).at("spec"), "queue"), "research");
    EXPECT_EQ(FindInt(PlainGroup(group).at("spec"), "minMember"), 2);
    EXPECT_THAT(Events(), IsEmpty());
  }

  std::string group;
};

absl::Duration LatePods(const kube::v1::Object& object, bool) {
  return object.has_pod() ? absl::Seconds(3) : absl::ZeroDuration();
}

TEST(LostGroupsTest, TheGroupOfAnOrphanedStatefulSetStaysWithItsPods) {
  for (const bool is_group_first : {true, false}) {
    SCOPED_TRACE(is_group_first);
    DatabaseRig rig;
    const std::string uid = rig.UidOf(kube::kPodGroups, rig.group);
    rig.late = [is_group_first](const kube::v1::Object& object, bool) {
      return (is_group_first ? object.has_pod() : object.has_pod_group()) ? absl::Seconds(3) : absl::ZeroDuration();
    };
    rig.Orphan();
    rig.Run(absl::Minutes(2));
    rig.ExpectThatPodsHaveTheirGroup();
    EXPECT_EQ(rig.UidOf(kube::kPodGroups, rig.group), uid)
        << "nobody has written the references of the dead owner back";
    // The group goes with its last pod.
    for (const char* pod : {"db-0", "db-1"}) {
      rig.server().Delete(kube::kPods, "default", pod, json::object{{"gracePeriodSeconds", 0}});
    }
    rig.Run(absl::Minutes(1));
    EXPECT_EQ(rig.PlainGroups(), 0u);
  }
}

TEST(LostGroupsTest, AGroupThatIsTakenFromOrphanedPodsIsMadeAgainAsItWas) {
  DatabaseRig rig;
  rig.Orphan();
  rig.Run(absl::Seconds(5));
  for (int i = 0; i < 3; ++i) {
    rig.server().Delete(kube::kPodGroups, "default", rig.group);
    rig.Run(absl::Seconds(20));
    rig.ExpectThatPodsHaveTheirGroup();
  }
}

TEST(LostGroupsTest, ARestartMakesTheGroupOfOrphanedPodsByOneOfThem) {
  DatabaseRig rig;
  rig.Orphan();
  rig.Run(absl::Seconds(5));
  rig.Kill();
  rig.server().Delete(kube::kPodGroups, "default", rig.group);
  rig.Start();
  rig.Run(absl::Seconds(5));
  EXPECT_NE(rig.UidOf(kube::kPodGroups, rig.group), "");
}

// Anything made for these pods would be collected with them.
TEST(LostGroupsTest, PodsThatAreDeletedWithTheirOwnerGetNoGroupAgain) {
  DatabaseRig rig;
  rig.late = LatePods;
  rig.server().ClearLog();
  rig.server().Delete(kube::kStatefulSets, "default", "db", json::object{{"propagationPolicy", "Background"}});
  rig.Run(absl::Minutes(1));
  EXPECT_EQ(rig.PlainGroups(), 0u);
  EXPECT_EQ(rig.server().WritesButEvents(), 0);
}

TEST(LostGroupsTest, AGroupThatSomebodyKeepsDeletingIsMadeLessAndLessOften) {
  PlainRig rig;
  rig.MakePlainPod("bare");
  rig.Run(absl::Seconds(5));
  rig.server().ClearLog();
  for (int i = 0; i < 300; ++i) {
    if (rig.PlainGroups() == 1) rig.server().Delete(kube::kPodGroups, "default", rig.PlainGroupOf("bare"));
    rig.Run(absl::Seconds(1));
  }
  EXPECT_LE(rig.server().WritesButEvents(), 12);
  rig.Run(absl::Minutes(2));
  EXPECT_EQ(rig.PlainGroups(), 1u);
}

template <class Rig>
void ExpectThatOrphansKeepTheirGroup() {
  Rig rig;
  rig.Start();
  const std::string group = rig.MakeDatabase();
  const std::string spec = rig.Spec(group);
  ASSERT_NE(group, "");
  rig.late = LatePods;
  rig.server().Delete(kube::kStatefulSets, "default", "db", json::object{{"propagationPolicy", "Orphan"}});
  // Meanwhile the owner or the group is edited; either has the group compared.
  rig.server().Merge(rig.GroupKind(), "default", group,
                     json::object{{"metadata", json::object{{"annotations", json::object{{"x", "y"}}}}}});
  rig.Run(absl::Minutes(2));
  EXPECT_NE(rig.UidOf(rig.GroupKind(), group), "");
  rig.server().Delete(rig.GroupKind(), "default", group);
  rig.Run(absl::Minutes(2));
  EXPECT_EQ(rig.GroupOf("db-0"), group);
  EXPECT_EQ(rig.Spec(group), spec);
  EXPECT_THAT(rig.Events(), IsEmpty());
}

// Makes a StatefulSet db with the pods db-0 and db-1 in its group; the pods have their nodes if `is_bound`.
template <class Rig>
std::string MakeOrphans(Rig& rig, bool is_bound) {
  rig.Make(kube::kStatefulSets, NamespaceRig::Workload("db", "", "serviceName: db"));
  for (const char* pod : {"db-0", "db-1"}) {
    rig.Make(kube::kPods,
             fmt::format("metadata: {{name: {}, labels: {{kai.scheduler/subgroup-name: old}}}}\n"
                         "spec: {{schedulerName: kai-scheduler, {}containers: [{{name: c, image: i}}]}}",
                         pod, is_bound ? "nodeName: n1, " : ""),
             &kube::kStatefulSets, "db");
  }
  rig.Run(absl::Seconds(5));
  const std::string group = rig.GroupOf("db-0");
  rig.server().Delete(kube::kStatefulSets, "default", "db", json::object{{"propagationPolicy", "Orphan"}});
  rig.Run(absl::Seconds(5));
  return group;
}

// The group is deleted while no process observes its last state, and goes for good with the last of its pods.
template <class Rig>
void ExpectThatARestartMakesTheGroupOfOrphansAgain() {
  for (const bool is_bound : {false, true}) {
    SCOPED_TRACE(is_bound);
    Rig rig;
    rig.Start();
    const std::string group = MakeOrphans(rig, is_bound);
    rig.Kill();
    rig.server().Delete(rig.GroupKind(), "default", group);
    rig.Start();
    rig.Run(absl::Minutes(2));
    EXPECT_NE(rig.UidOf(rig.GroupKind(), group), "");
    EXPECT_EQ(rig.Groups(), 1u);
    EXPECT_THAT(rig.Events(), IsEmpty());
    for (const char* pod : {"db-0", "db-1"}) {
      EXPECT_EQ(rig.GroupOf(pod), group);
      rig.server().Delete(kube::kPods, "default", pod, json::object{{"gracePeriodSeconds", 0}});
    }
    rig.Run(absl::Minutes(2));
    EXPECT_EQ(rig.Groups(), 0u) << "nobody owns the group";
  }
}

template <class Rig>
void ExpectThatAGroupOfSomebodyElsesStays() {
  Rig rig;
  rig.Start();
  const std::string name = "pg-train-12345678-90ab-4cde-8f01-234567890abc";
  rig.server().Create(rig.GroupKind(),
                      json::object{{"metadata", json::object{{"namespace", "default"}, {"name", name}}},
                                   {"spec", json::object{{"minMember", 2}, {"queue", "default-queue"}}}});
  rig.Run(absl::Minutes(2));
  EXPECT_NE(rig.UidOf(rig.GroupKind(), name), "") << "its pods are to come";
}

TEST(LostGroupsTest, AGroupOfSomebodyElsesStays) {
  ExpectThatAGroupOfSomebodyElsesStays<RichRig>();
  ExpectThatAGroupOfSomebodyElsesStays<NamespaceRig>();
}

// The pods are no members of the group, and yet one of them gets the Event.
TEST(LostGroupsTest, ARefusalOfTheGroupOfOrphansIsToldAtAPod) {
  NamespaceRig rig;
  rig.Start();
  const std::string group = MakeOrphans(rig, /*is_bound=*/false);
  rig.Kill();
  rig.server().Delete(kube::kKaiPodGroups, "default", group);
  rig.Refuse(NamespaceRig::IsOfGroup, 403, "Forbidden", "the quota of groups is used up");
  rig.Start();
  rig.Run(absl::Minutes(2));
  EXPECT_THAT(rig.Events(), ::testing::ElementsAre(::testing::HasSubstr("the quota of groups is used up")));
  rig.server().refuse = nullptr;
  rig.Run(absl::Minutes(2));
  EXPECT_NE(rig.UidOf(kube::kKaiPodGroups, group), "");
}

// A new StatefulSet of that name adopts the pods, which keep the name of their group.
TEST(LostGroupsTest, AdoptedPodsHaveTheGroupThatTheyNameMadeAgain) {
  RichRig rig;
  rig.Start();
  const std::string group = MakeOrphans(rig, /*is_bound=*/false);
  rig.Make(kube::kStatefulSets, NamespaceRig::Workload("db", "", "serviceName: db"));
  const json::object owner{{"apiVersion", "apps/v1"},
                           {"kind", "StatefulSet"},
                           {"name", "db"},
                           {"uid", rig.UidOf(kube::kStatefulSets, "db")},
                           {"controller", true}};
  for (const char* pod : {"db-0", "db-1"}) {
    rig.server().Merge(kube::kPods, "default", pod,
                       json::object{{"metadata", json::object{{"ownerReferences", json::array{owner}}}}});
  }
  rig.Run(absl::Seconds(5));
  rig.Kill();
  rig.server().Delete(kube::kPodGroups, "default", group);
  rig.Start();
  rig.Run(absl::Minutes(2));
  for (const char* pod : {"db-0", "db-1"}) EXPECT_NE(rig.UidOf(kube::kPodGroups, rig.GroupOf(pod)), "") << pod;
}

TEST(LostGroupsTest, ARestartMakesTheGroupOfOrphansInTheRichProfile) {
  ExpectThatARestartMakesTheGroupOfOrphansAgain<RichRig>();
}
TEST(LostGroupsTest, ARestartMakesTheGroupOfOrphansOfKais) {
  ExpectThatARestartMakesTheGroupOfOrphansAgain<NamespaceRig>();
}

TEST(LostGroupsTest, OrphanedPodsKeepTheirGroupInTheRichProfile) { ExpectThatOrphansKeepTheirGroup<RichRig>(); }
TEST(LostGroupsTest, OrphanedPodsKeepTheirGroupOfKais) { ExpectThatOrphansKeepTheirGroup<NamespaceRig>(); }

}  // namespace
}  // namespace basalt::pgsvc
