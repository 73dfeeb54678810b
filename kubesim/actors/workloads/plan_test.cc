#include "kubesim/actors/workloads/plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/yaml.h"

namespace basalt::actors {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// tests/conformance/workloads has what a real cluster does alike.
const absl::Time kNow = absl::UnixEpoch() + absl::Seconds(1'700'000'000);

json::value Owner(const std::string& spec, const std::string& image = "i", const std::string& more = "") {
  return ParseYamlDocuments(fmt::format(R"(
metadata: {{name: w, namespace: default, uid: u, generation: 3, annotations: {{volcano.sh/tier: gold}}}}
spec:
  template: {{metadata: {{labels: {{app: w}}}}, spec: {{containers: [{{name: c, image: {}}}]}}}}
  {}
{}
)",
                                        image, spec, more))
      ->front();
}

Child Pod(const std::string& name, const std::string& phase, bool is_ready = false, int64_t created_ms = 0) {
  return {.name = name, .uid = "uid-" + name, .created_ms = created_ms, .phase = phase, .is_ready = is_ready};
}
Child Running(const std::string& name, const std::string& revision = "") {
  Child pod = Pod(name, "Running", true);
  pod.revision = revision;
  return pod;
}
Child Leaving(Child child) {
  child.is_deleting = true;
  return child;
}

std::string At(const json::value& value, std::initializer_list<std::string_view> path) {
  const json::value* const found = FindPath(value, path);
  if (found == nullptr || found->is_null()) return "";
  return found->is_string() ? std::string(found->get_string()) : ToText(*found);
}
std::vector<std::string> Names(const Plan& plan) {
  std::vector<std::string> names;
  for (const json::object& child : plan.create) {
    const std::string name = At(child, {"metadata", "name"});
    names.push_back(name.empty() ? At(child, {"metadata", "generateName"}) : name);
  }
  return names;
}
std::string Status(const Plan& plan, std::string_view member) { return At(plan.status, {member}); }

// ---- ReplicaSet ----

TEST(ReplicaSetPlanTest, MakesNewPodsForThoseThatAreOverOrGo) {
  const Plan plan = PlanReplicaSet(
      Owner("replicas: 3"), {Running("a"), Pod("b", "Failed"), Leaving(Running("c")), Pod("d", "Pending")}, kNow);
  EXPECT_THAT(Names(plan), ElementsAre("w-"));
  EXPECT_THAT(plan.remove, IsEmpty());
  EXPECT_EQ(Status(plan, "replicas"), "2");
  EXPECT_EQ(Status(plan, "readyReplicas"), "1");
  EXPECT_EQ(Status(plan, "observedGeneration"), "3");
}

TEST(ReplicaSetPlanTest, TheUnreadyAndThenTheYoungestGo) {
  const Plan plan = PlanReplicaSet(
      Owner("replicas: 1"),
      {Pod("old", "Running", true, 1), Pod("new", "Running", true, 2), Pod("wait", "Pending", false, 0)}, kNow);
  EXPECT_THAT(plan.remove, ElementsAre("wait", "new"));
}

// ---- StatefulSet ----

std::string RevisionOfSet(const json::value& owner) { return "w-" + RevisionOf(owner); }

TEST(StatefulSetPlanTest, APodThatIsOverIsMadeAnewUnderItsName) {
  const json::value owner = Owner("replicas: 1");
  EXPECT_THAT(PlanStatefulSet(owner, {Pod("w-0", "Failed")}, kNow).remove, ElementsAre("w-0"));
  EXPECT_THAT(Names(PlanStatefulSet(owner, {Leaving(Pod("w-0", "Failed"))}, kNow)), IsEmpty());
}

TEST(StatefulSetPlanTest, ShrinksFromTheEndOneByOneWhereItIsOrdered) {
  const std::vector<Child> pods = {Running("w-0"), Running("w-1"), Running("w-2")};
  EXPECT_THAT(PlanStatefulSet(Owner("replicas: 1"), pods, kNow).remove, ElementsAre("w-2"));
  EXPECT_THAT(PlanStatefulSet(Owner("replicas: 1"), {pods[0], pods[1], Leaving(pods[2])}, kNow).remove, IsEmpty());
  const json::value parallel = Owner("replicas: 0\n  podManagementPolicy: Parallel");
  EXPECT_THAT(PlanStatefulSet(parallel, pods, kNow).remove, ElementsAre("w-2", "w-1", "w-0"));
}

TEST(StatefulSetPlanTest, ANewTemplateIsRolledOutFromTheLastPodDown) {
  const json::value owner = Owner("replicas: 2", "new");
  const std::string revision = RevisionOfSet(owner);
  EXPECT_THAT(PlanStatefulSet(owner, {Running("w-0", "old"), Running("w-1", "old")}, kNow).remove, ElementsAre("w-1"));
  EXPECT_THAT(PlanStatefulSet(owner, {Running("w-0", "old"), Pod("w-1", "Pending")}, kNow).remove, IsEmpty());
  EXPECT_THAT(PlanStatefulSet(owner, {Running("w-0", "old"), Running("w-1", revision)}, kNow).remove,
              ElementsAre("w-0"));
  const Plan done = PlanStatefulSet(owner, {Running("w-0", revision), Running("w-1", revision)}, kNow);
  EXPECT_THAT(done.remove, IsEmpty());
  EXPECT_EQ(Status(done, "currentRevision"), revision);
  EXPECT_EQ(Status(done, "updatedReplicas"), "2");
}

TEST(StatefulSetPlanTest, ARollWaitsForThePodThatIsBeingMadeInParallelToo) {
  const json::value owner = Owner("replicas: 2\n  podManagementPolicy: Parallel", "new");
  const Plan plan = PlanStatefulSet(owner, {Running("w-0", "old")}, kNow);
  EXPECT_THAT(Names(plan), ElementsAre("w-1"));
  EXPECT_THAT(plan.remove, IsEmpty());
}

TEST(StatefulSetPlanTest, ThePartitionAndOnDeleteHoldARollBack) {
  const std::vector<Child> pods = {Running("w-0", "old"), Running("w-1", "old")};
  EXPECT_THAT(
      PlanStatefulSet(Owner("replicas: 2\n  updateStrategy: {rollingUpdate: {partition: 2}}"), pods, kNow).remove,
      IsEmpty());
  EXPECT_THAT(PlanStatefulSet(Owner("replicas: 2\n  updateStrategy: {type: OnDelete}"), pods, kNow).remove, IsEmpty());
}

// ---- Job ----

TEST(JobPlanTest, WithoutCompletionsTheFirstSuccessEndsIt) {
  const json::value owner = Owner("parallelism: 3");
  EXPECT_EQ(PlanJob(owner, {Running("a")}, kNow).create.size(), 2u);
  EXPECT_THAT(PlanJob(owner, {Pod("a", "Succeeded"), Running("b")}, kNow).create, IsEmpty());
  EXPECT_THAT(Status(PlanJob(owner, {Pod("a", "Succeeded")}, kNow), "conditions"), ::testing::HasSubstr("Complete"));
}

TEST(JobPlanTest, SuspendedItHasNoPodsAndEndedItIsLeftAlone) {
  const Plan suspended = PlanJob(Owner("suspend: true"), {Running("a")}, kNow);
  EXPECT_THAT(suspended.remove, ElementsAre("a"));
  EXPECT_EQ(Status(suspended, "startTime"), "");
  const Plan ended = PlanJob(Owner("", "i", "status: {conditions: [{type: Complete, status: 'True'}]}"), {}, kNow);
  EXPECT_THAT(ended.create, IsEmpty());
  EXPECT_THAT(ended.status, IsEmpty());
  const json::value failed = Owner("", "i", "status: {conditions: [{type: Failed, status: 'True'}]}");
  EXPECT_THAT(PlanJob(failed, {Running("a")}, kNow).remove, ElementsAre("a")) << "its removal was refused before";
}

// ---- Deployment ----

Child Set(const std::string& name, const std::string& revision, int64_t replicas, int64_t ready) {
  Child set{.name = name, .uid = name, .revision = revision, .replicas = replicas, .pods = replicas, .ready = ready};
  set.annotations["volcano.sh/tier"] = "gold";
  return set;
}

TEST(DeploymentPlanTest, AnEditOfItsAnnotationsReachesItsReplicaSet) {
  const json::value owner = Owner("replicas: 1");
  Child set = Set("w-a", RevisionOf(owner), 1, 1);
  set.annotations["volcano.sh/tier"] = "silver";
  const Plan plan = PlanDeployment(owner, {set}, kNow);
  ASSERT_EQ(plan.change.size(), 1u);
  EXPECT_EQ(ToText(plan.change[0].second), R"({"metadata":{"annotations":{"volcano.sh/tier":"gold"}}})");
}

TEST(DeploymentPlanTest, TheOrderOfMembersMakesNoOtherTemplate) {
  const json::value a = ParseYamlDocuments("spec: {template: {metadata: {x: 1, y: 2}, spec: {}}}")->front();
  const json::value b = ParseYamlDocuments("spec: {template: {spec: {}, metadata: {y: 2, x: 1}}}")->front();
  const json::value c = ParseYamlDocuments("spec: {template: {spec: {}, metadata: {y: 1, x: 2}}}")->front();
  EXPECT_EQ(RevisionOf(a), RevisionOf(b));
  EXPECT_NE(RevisionOf(a), RevisionOf(c));
}

}  // namespace
}  // namespace basalt::actors
