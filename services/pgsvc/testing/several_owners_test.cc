// The source of a group's fields if there are several: pods of several revisions, or several owners of one pod.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "services/pgsvc/testing/plain_rig.h"

namespace basalt::pgsvc {
namespace {

std::string PriorityOf(PlainRig& rig, const std::string& group) {
  return std::string(FindString(rig.PlainGroup(group).at("spec"), "priorityClassName"));
}

std::string AnnotationOf(PlainRig& rig, const std::string& group, std::string_view key) {
  const json::value stored = rig.PlainGroup(group);
  const json::value* const annotations = FindPath(stored, {"metadata", "annotations"});
  return annotations == nullptr ? "" : std::string(FindString(*annotations, key));
}

// A roll-out with a partition: the old revision makes the pod below the partition anew.
TEST(SeveralOwnersTest, APodOfTheRevisionThatAStatefulSetRollsOutSpeaksForItsGroup) {
  PlainRig rig;
  for (const char* name : {"old", "new"}) {
    rig.server().Create(kube::kPriorityClasses, json::object{{"metadata", json::object{{"name", name}}}, {"value", 9}});
  }
  rig.MakeSet(kube::kStatefulSets, "db", 2);
  const auto roll = [&rig](const char* revision) {
    rig.server().Merge(kube::kStatefulSets, "default", "db",
                       json::object{{"status", json::object{{"replicas", 2}, {"updateRevision", revision}}}}, "status");
  };
  const auto make = [&rig](const std::string& pod, const std::string& revision) {
    rig.MakePlainPod(pod, rig.OwnerOf(kube::kStatefulSets, "db"),
                     "  labels: {controller-revision-hash: " + revision + "}\n", ", priorityClassName: " + revision);
    rig.Run(absl::Seconds(5));
  };
  roll("old");
  make("db-1", "old");
  const std::string group = rig.PlainGroupOf("db-1");
  EXPECT_EQ(PriorityOf(rig, group), "old");
  roll("new");
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(PriorityOf(rig, group), "old") << "there is no pod of the new revision yet";
  rig.server().Delete(kube::kPods, "default", "db-1", json::object{{"gracePeriodSeconds", 0}});
  make("db-1", "new");
  EXPECT_EQ(PriorityOf(rig, group), "new");
  make("db-0", "old");
  EXPECT_EQ(PriorityOf(rig, group), "new");
  roll("old");
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(PriorityOf(rig, group), "old") << "the roll-out is taken back";
}

// podgroup spec 6.2.
TEST(SeveralOwnersTest, AnnotationsOfAllOwnersAreMergedAndTheFirstOwnerWins) {
  for (const bool is_followed_owner_first : {false, true}) {
    SCOPED_TRACE(is_followed_owner_first);
    PlainRig rig;
    rig.MakeSet(kube::kReplicaSets, "web", 4, ", annotations: {volcano.sh/both: web, volcano.sh/web: w}");
    rig.MakeSet(kube::kStatefulSets, "db", 4,
                ", annotations: {volcano.sh/both: db, volcano.sh/db: d, scheduling.volcano.sh/group-min-member: '3'}");
    const std::string web = rig.OwnerOf(kube::kReplicaSets, "web") + ", controller: true";
    const std::string db = rig.OwnerOf(kube::kStatefulSets, "db");
    rig.CreateIn("default", kube::kPods,
                 fmt::format("metadata: {{name: a, ownerReferences: [{{{}}}, {{{}}}]}}\n"
                             "spec: {{schedulerName: volcano, containers: [{{name: c, image: i}}]}}\n",
                             is_followed_owner_first ? web : db, is_followed_owner_first ? db : web));
    rig.Run(absl::Seconds(5));
    const std::string group = "podgroup-" + rig.UidOf(kube::kReplicaSets, "web");
    ASSERT_EQ(rig.PlainGroupOf("a"), group);
    const auto expect_that_all_count = [&] {
      EXPECT_EQ(FindInt(rig.PlainGroup(group).at("spec"), "minMember"), 3);
      EXPECT_EQ(AnnotationOf(rig, group, "volcano.sh/both"), is_followed_owner_first ? "web" : "db");
      EXPECT_EQ(AnnotationOf(rig, group, "volcano.sh/web"), "w");
    };
    expect_that_all_count();
    EXPECT_EQ(AnnotationOf(rig, group, "volcano.sh/db"), "d");
    // The group follows the controller, and takes the other owner's texts of that time.
    rig.Annotate(kube::kStatefulSets, "db", "volcano.sh/db", "e");
    rig.Annotate(kube::kReplicaSets, "web", "volcano.sh/more", "m");
    rig.Run(absl::Seconds(5));
    expect_that_all_count();
    EXPECT_EQ(AnnotationOf(rig, group, "volcano.sh/more"), "m");
    EXPECT_EQ(AnnotationOf(rig, group, "volcano.sh/db"), "e");
    rig.Kill();
    rig.server().ClearLog();
    rig.Start();
    rig.Run(absl::Seconds(5));
    EXPECT_EQ(rig.server().WritesButEvents(), 0) << "after a restart";
  }
}

TEST(SeveralOwnersTest, ALabelThatThePodHasLostGoesAndAPersonsStays) {
  PlainRig rig;
  rig.MakeSet(kube::kReplicaSets, "web", 1);
  rig.MakePlainPod("a", rig.OwnerOf(kube::kReplicaSets, "web"), "  labels: {volcano.sh/preemptable: 'true'}\n");
  rig.Run(absl::Seconds(5));
  const std::string group = rig.PlainGroupOf("a");
  const auto labels = [&rig, &group] { return ToText(rig.PlainGroup(group).at("metadata").at("labels")); };
  EXPECT_EQ(labels(), R"({"volcano.sh/preemptable":"true"})");
  rig.server().Merge(kube::kPodGroups, "default", group,
                     *ParseJson(R"({"metadata":{"labels":{"volcano.sh/cooldown-time":"5m","team":"ml"}}})"));
  rig.server().Merge(kube::kPods, "default", "a",
                     *ParseJson(R"({"metadata":{"labels":{"volcano.sh/preemptable":null}}})"));
  rig.Run(absl::Seconds(5));
  EXPECT_EQ(labels(), R"({"team":"ml","volcano.sh/cooldown-time":"5m"})");
}

}  // namespace
}  // namespace basalt::pgsvc
