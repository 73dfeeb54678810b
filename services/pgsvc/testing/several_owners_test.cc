// What the group of an owner's pods is taken from where there are several to say it: pods of several revisions.
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

// A roll-out with a partition: the pod below it is made anew by the old revision.
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

}  // namespace
}  // namespace basalt::pgsvc
