// Tests plain pods of a Volcano scheduler over the whole suite, simulated: each pod gets its group, is linked to the
// group and runs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/suite/suite_fixture.h"

namespace basalt::simulation {
namespace {

class PodGroupsTest : public SuiteTest {
 protected:
  PodGroupsTest() : SuiteTest(3) {}

  std::string CreatePod(const std::string& name, const std::string& extra_meta = "",
                        const std::string& scheduler = "volcano") {
    const auto created = suite_.api().CreateObject(*ParseJson(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default"{}}},)"
        R"("spec":{{"schedulerName":"{}","restartPolicy":"Never","containers":[{{"name":"c","image":"busybox",)"
        R"("command":["sh","-c","sleep 600"],"resources":{{"requests":{{"cpu":"100m"}}}}}}]}}}})",
        name, extra_meta, scheduler)));
    EXPECT_TRUE(created.ok()) << created.status();
    return created.ok() ? std::string(FindString(*FindPath(*created, {"metadata"}), "uid")) : std::string();
  }

  std::string PodPhase(const std::string& name) {
    const auto pod = suite_.api().Get("pods", "default", name);
    return pod == nullptr ? "" : std::string(FindString(*FindPath(*pod, {"status"}), "phase"));
  }

  std::shared_ptr<const json::value> Group(const std::string& uid) {
    return suite_.api().Get("podgroups.scheduling.volcano.sh", "default", "podgroup-" + uid);
  }
};

// A pod with this annotation requests a group that the API server would refuse.
constexpr char kWrongTier[] = R"(,"annotations":{"volcano.sh/network-topology-highest-tier":"-1"})";

TEST_F(PodGroupsTest, ABarePodGetsAGroupOfItsOwnInTwoWritesAndRuns) {
  const std::string uid = CreatePod("bare");
  suite_.time().Advance(absl::Seconds(20));
  ASSERT_NE(Group(uid), nullptr);
  const auto pod = suite_.api().Get("pods", "default", "bare");
  EXPECT_EQ(FindString(*FindPath(*pod, {"metadata", "annotations"}), "scheduling.k8s.io/group-name"),
            "podgroup-" + uid);
  EXPECT_EQ(PodPhase("bare"), "Running");
  EXPECT_EQ(FindString(*FindPath(*Group(uid), {"status"}), "phase"), "Running");
  EXPECT_EQ(Writes(), 2);
}

TEST_F(PodGroupsTest, PodsOfOneOwnerShareAGroupWithTheOwnersMinimum) {
  const auto owner = suite_.api().CreateObject(*ParseJson(
      R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"web","namespace":"default",)"
      R"("annotations":{"scheduling.volcano.sh/group-min-member":"2"}},"spec":{"selector":{"matchLabels":{"a":"b"}},)"
      R"("template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"busybox"}]}}}})"));
  ASSERT_TRUE(owner.ok()) << owner.status();
  const std::string owner_uid(FindString(*FindPath(*owner, {"metadata"}), "uid"));
  const std::string reference = fmt::format(
      R"(,"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"{}","controller":true}}])",
      owner_uid);
  CreatePod("web-1", reference);
  suite_.time().Advance(absl::Seconds(10));
  EXPECT_EQ(PodPhase("web-1"), "Pending") << "one of a gang of two does not start";
  CreatePod("web-2", reference);
  suite_.time().Advance(absl::Seconds(20));
  const auto group = Group(owner_uid);
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(FindInt(*FindPath(*group, {"spec"}), "minMember"), 2);
  EXPECT_EQ(PodPhase("web-1"), "Running");
  EXPECT_EQ(PodPhase("web-2"), "Running");
  EXPECT_EQ(Writes(), 3) << "one group, two bindings";
}

TEST_F(PodGroupsTest, PodsOfOtherSchedulersAndBoundOnesAreLeftAlone) {
  CreatePod("foreign", "", "default-scheduler");
  CreatePod("bound", R"(,"annotations":{"scheduling.k8s.io/group-name":"mine"})");
  suite_.time().Advance(absl::Seconds(10));
  EXPECT_EQ(Writes(), 0);
}

TEST_F(PodGroupsTest, AGroupThatIsDeletedUnderItsPodIsMadeAgain) {
  const std::string uid = CreatePod("bare");
  suite_.time().Advance(absl::Seconds(20));
  suite_.DeleteObject(fmt::format("/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups/podgroup-{}", uid));
  suite_.time().Advance(absl::Seconds(20));
  EXPECT_NE(Group(uid), nullptr);
}

TEST_F(PodGroupsTest, APodThatNeedsAGroupWhileEverythingIsDownGetsItAtTheNextStart) {
  for (const std::string_view program : {"pgsvc-0", "gateway-0"}) suite_.Kill(program);
  const std::string uid = CreatePod("late");
  suite_.time().Advance(absl::Seconds(10));
  EXPECT_EQ(Group(uid), nullptr);
  suite_.LoseDisk("pgsvc-0");
  for (const std::string_view program : {"gateway-0", "pgsvc-0"}) suite_.Start(program);
  suite_.time().Advance(absl::Seconds(30));
  EXPECT_EQ(PodPhase("late"), "Running");
}

TEST_F(PodGroupsTest, AGroupThatWouldBeRefusedGetsAnEventWithTheRule) {
  const std::string uid = CreatePod("wrong", kWrongTier);
  const std::string other = CreatePod("right");
  suite_.time().Advance(absl::Seconds(30));
  EXPECT_EQ(Group(uid), nullptr);
  EXPECT_EQ(PodPhase("right"), "Running");
  int events = 0;
  for (const kubesim::LoggedRequest& request : suite_.api().log()) {
    if (request.resource != "events" || !request.user_agent.starts_with("basalt")) continue;
    ++events;
    EXPECT_NE(ToText(request.body).find("network-topology-highest-tier"), std::string::npos);
  }
  EXPECT_EQ(events, 1) << "said once";
}

}  // namespace
}  // namespace basalt::simulation
