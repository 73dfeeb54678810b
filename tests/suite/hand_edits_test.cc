// Tests manual removals of labels and owners from objects of a job, over the whole suite, simulated. The suite touches
// no other object; the job reports the obstacle and continues once the obstacle is gone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/suite/suite_fixture.h"

namespace basalt::simulation {
namespace {

constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";
constexpr std::string_view kGroups = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups";

constexpr std::string_view kJob = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/j";

class HandEditsTest : public SuiteTest {
 protected:
  HandEditsTest() : SuiteTest(7) {}
  int AcceptedWrites(std::string_view verb, std::string_view resource) {
    return Writes(verb, resource, /*accepted=*/true);
  }
  // Runs a job whose pods name that scheduler. The pods have a node and run whatever the scheduler does.
  void Begin(std::string_view scheduler) {
    uid_ = suite_.CreateObject(fmt::format(
        R"({{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{{"name":"j","namespace":"default"}},)"
        R"("spec":{{"schedulerName":"volcano","queue":"default","tasks":[{{"name":"t","replicas":2,"template":{{"spec":)"
        R"({{"schedulerName":"{}","nodeName":"node-0","restartPolicy":"Never","containers":[{{"name":"c","image":"i",)"
        R"("command":["sleep","300"]}}]}}}}}}]}}}})",
        scheduler));
    ASSERT_TRUE(Reaches("Running"));
    suite_.time().Advance(absl::Seconds(20));
    suite_.api().ClearLog();
  }
  // Removes the labels of the pod j-t-1 and returns them.
  std::string TakeLabels() {
    const auto pod = suite_.api().Get("pods", "default", "j-t-1");
    suite_.PatchObject(fmt::format("{}/j-t-1", kPods), R"([{"op":"remove","path":"/metadata/labels"}])");
    return ToText(*FindPath(*pod, {"metadata", "labels"}));
  }
  bool Reaches(std::string_view phase) { return SuiteTest::Reaches("j", phase, absl::Minutes(15)); }
  std::string State(std::string_view field) {
    const auto job = suite_.api().Get("jobs.batch.volcano.sh", "default", "j");
    const json::value* state = job == nullptr ? nullptr : FindPath(*job, {"status", "state"});
    return state == nullptr ? "" : std::string(FindString(*state, field));
  }

  std::string uid_;
};

TEST_F(HandEditsTest, APodWithoutItsOwnerIsNobodysAndItsNameIsWaitedFor) {
  Begin("volcano");
  suite_.PatchObject(fmt::format("{}/j-t-1", kPods), R"([{"op":"remove","path":"/metadata/ownerReferences"}])");
  const std::string before = UidOf("pods", "j-t-1");
  suite_.time().Advance(absl::Minutes(1));
  EXPECT_EQ(UidOf("pods", "j-t-1"), before);
  EXPECT_EQ(AcceptedWrites("delete", "pods"), 0);
  EXPECT_EQ(State("reason"), "FailedCreate");
  EXPECT_NE(State("message").find("pod j-t-1: the name is held"), std::string::npos) << State("message");
  suite_.DeleteObject(fmt::format("{}/j-t-1", kPods));
  EXPECT_TRUE(Reaches("Completed")) << State("message");
  EXPECT_NE(UidOf("pods", "j-t-1"), before);
  EXPECT_EQ(AcceptedWrites("create", "pods"), 1);
}

TEST_F(HandEditsTest, APodWithoutItsOwnerOutlivesTheJobsPods) {
  Begin("volcano");
  suite_.PatchObject(fmt::format("{}/j-t-1", kPods), R"([{"op":"remove","path":"/metadata/ownerReferences"}])");
  suite_.PatchObject(kJob, R"([{"op":"replace","path":"/spec/tasks/0/replicas","value":4}])");
  suite_.time().Advance(absl::Minutes(1));
  const std::string before = UidOf("pods", "j-t-1");
  suite_.CreateObject(fmt::format(
      R"({{"apiVersion":"bus.volcano.sh/v1alpha1","kind":"Command","metadata":{{"name":"stop","namespace":"default"}},)"
      R"("action":"AbortJob","target":{{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"j","uid":"{}"}}}})",
      uid_));
  EXPECT_TRUE(Reaches("Aborted")) << State("message");
  EXPECT_EQ(UidOf("pods", "j-t-1"), before) << "it has all labels of the job, and no owner";
  for (const char* pod : {"j-t-0", "j-t-2", "j-t-3"}) EXPECT_EQ(UidOf("pods", pod), "") << pod;
}

// The pod's annotations and its owner name its job, and the watch of its scheduler's pods still contains the pod.
TEST_F(HandEditsTest, APodWithoutItsLabelsIsFollowedAsBefore) {
  Begin("volcano");
  TakeLabels();
  suite_.time().Advance(absl::Minutes(1));
  EXPECT_EQ(State("reason"), "") << State("message");
  EXPECT_TRUE(Reaches("Completed")) << State("message");
  EXPECT_EQ(AcceptedWrites("delete", "pods") + AcceptedWrites("create", "pods") + AcceptedWrites("create", "podgroups"),
            0);
}

TEST_F(HandEditsTest, APodThatNoWatchShowsIsNamedUntilItHasItsLabelsBack) {
  Begin("another");
  const std::string before = UidOf("pods", "j-t-1");
  const std::string labels = TakeLabels();
  suite_.time().Advance(absl::Minutes(1));
  EXPECT_EQ(State("reason"), "FailedCreate");
  EXPECT_NE(State("message").find("without the label volcano.sh/job-name=j"), std::string::npos) << State("message");
  suite_.PatchObject(fmt::format("{}/j-t-1", kPods),
                     fmt::format(R"([{{"op":"add","path":"/metadata/labels","value":{}}}])", labels));
  suite_.time().Advance(absl::Minutes(1));
  EXPECT_EQ(State("reason"), "") << State("message");
  EXPECT_EQ(UidOf("pods", "j-t-1"), before);
  EXPECT_TRUE(Reaches("Completed")) << State("message");
  EXPECT_EQ(AcceptedWrites("delete", "pods") + AcceptedWrites("create", "pods"), 0);
}

TEST_F(HandEditsTest, AGroupWithoutItsOwnerIsNamedAndMadeAgainOnceItIsGone) {
  Begin("volcano");
  const std::string group = fmt::format("j-{}", uid_);
  suite_.PatchObject(fmt::format("{}/{}", kGroups, group), R"([{"op":"remove","path":"/metadata/ownerReferences"}])");
  const std::string before = UidOf("podgroups.scheduling.volcano.sh", group);
  ASSERT_NE(before, "");
  suite_.time().Advance(absl::Minutes(1));
  EXPECT_EQ(UidOf("podgroups.scheduling.volcano.sh", group), before) << "it is somebody else's now";
  EXPECT_EQ(AcceptedWrites("delete", "pods") + AcceptedWrites("create", "pods"), 0);
  EXPECT_EQ(State("reason"), "PodGroupError");
  EXPECT_NE(State("message").find("belongs to another owner"), std::string::npos) << State("message");
  suite_.DeleteObject(fmt::format("{}/{}", kGroups, group));
  suite_.time().Advance(absl::Minutes(1));
  EXPECT_NE(UidOf("podgroups.scheduling.volcano.sh", group), "");
  EXPECT_EQ(State("reason"), "");
  EXPECT_TRUE(Reaches("Completed")) << State("message");
  EXPECT_EQ(AcceptedWrites("delete", "pods") + AcceptedWrites("create", "pods"), 0);
}

}  // namespace
}  // namespace basalt::simulation
