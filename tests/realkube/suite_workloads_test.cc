// Kubernetes' own controllers create pods for our scheduler. Each owner has one group, which follows the owner as
// people scale, roll and edit the owner.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tests/realkube/suite_fixture.h"

namespace basalt::realkube {
namespace {

using ::testing::IsEmpty;

constexpr char kGroups[] = "podgroups.scheduling.volcano.sh";

class SuiteWorkloadsTest : public SuiteTest {
 protected:
  void SetUp() override { Start(); }
  void TearDown() override {
    if (world_ == nullptr || !world_->ok()) return;
    EXPECT_THAT(world_->suite().Casualties(), IsEmpty());
    Kubectl({"delete", "deployments,statefulsets,jobs.batch", "--all"});
    EXPECT_TRUE(e2e::Eventually(kLimit, [&] { return Lines("pods").empty(); }));
    EXPECT_TRUE(e2e::Eventually(kLimit, [&] { return Lines(kGroups).empty(); })) << "they go with their owners";
  }

  void Make(const std::string& text) {
    e2e::WriteFile(dir_ / "workload.yaml", text);
    Kubectl({"create", "-f", dir_ / "workload.yaml"});
  }
  // Creates a workload. `spec` has the lines beside selector and template.
  void MakeWorkload(const std::string& kind, const std::string& name, const std::string& spec,
                    const std::string& annotations = "", const std::string& scheduler = "volcano") {
    Make(fmt::format(R"(apiVersion: apps/v1
kind: {}
metadata: {{name: {}, annotations: {{{}}}}}
spec:
  {}
  selector: {{matchLabels: {{app: {}}}}}
  template:
    metadata: {{labels: {{app: {}}}, annotations: {{kubesim.basalt.dev/duration: 600s}}}}
    spec:
      schedulerName: {}
      terminationGracePeriodSeconds: 0
      containers: [{{name: c, image: i, resources: {{requests: {{cpu: 100m}}}}}}]
)",
                     kind, name, annotations, spec, name, name, scheduler));
  }
  // Returns one line for each object of the kind.
  std::vector<std::string> Lines(const std::string& kind, const std::string& path = ".metadata.name",
                                 const std::string& selector = "") {
    std::vector<std::string> words = {"get", kind, "-o",
                                      fmt::format(R"(jsonpath={{range .items[*]}}{{{}}}{{"\n"}}{{end}})", path)};
    if (!selector.empty()) words.insert(words.end(), {"-l", selector});
    std::vector<std::string> lines;
    std::string text = cluster().Kubectl(words).value_or("?\n");
    for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      lines.push_back(text.substr(0, end));
      text.erase(0, end + 1);
    }
    return lines;
  }
  std::string Field(const std::string& kind, const std::string& name, const std::string& path) {
    return cluster().Kubectl({"get", kind, name, "-o", "jsonpath={" + path + "}"}).value_or("");
  }
  // Waits until `pods` pods of the workload run and each names the only group. Sets `group` to the group's name.
  bool RunInOneGroup(const std::string& app, size_t pods, std::string& group) {
    return e2e::Eventually(kLimit, [&] {
      const std::vector<std::string> states =
          Lines("pods", R"(.status.phase}/{.metadata.annotations.scheduling\.k8s\.io/group-name)", "app=" + app);
      const std::vector<std::string> groups = Lines(kGroups);
      if (states.size() != pods || groups.size() != 1) return false;
      group = groups.front();
      return std::all_of(states.begin(), states.end(),
                         [&](const std::string& state) { return state == "Running/" + group; });
    });
  }
  std::string Seen(const std::string& app) {
    return fmt::format("pods {}; groups {}",
                       fmt::join(Lines("pods", R"(.metadata.name}/{.status.phase)", "app=" + app), " "),
                       fmt::join(Lines(kGroups, R"(.metadata.name}/{.spec.minMember)"), " "));
  }
  bool HasNoGroup() {
    return e2e::Eventually(kLimit, [&] { return Lines(kGroups).empty(); });
  }
};

TEST_F(SuiteWorkloadsTest, ADeploymentHasOneGroupThroughScalingToZeroAndBack) {
  MakeWorkload("Deployment", "web", "replicas: 2");
  std::string group;
  ASSERT_TRUE(RunInOneGroup("web", 2, group)) << Seen("web");
  EXPECT_EQ(group, "podgroup-" + Lines("replicasets", ".metadata.uid").front());
  for (const int replicas : {5, 1}) {
    Kubectl({"scale", "deployment", "web", fmt::format("--replicas={}", replicas)});
    ASSERT_TRUE(RunInOneGroup("web", static_cast<size_t>(replicas), group)) << Seen("web");
  }
  const std::string before = Field(kGroups, group, ".metadata.uid");
  Kubectl({"scale", "deployment", "web", "--replicas=0"});
  EXPECT_TRUE(HasNoGroup()) << Seen("web");
  Kubectl({"scale", "deployment", "web", "--replicas=3"});
  std::string again;
  ASSERT_TRUE(RunInOneGroup("web", 3, again)) << Seen("web");
  EXPECT_EQ(again, group);
  EXPECT_NE(Field(kGroups, again, ".metadata.uid"), before);
}

TEST_F(SuiteWorkloadsTest, TheGroupOfADeploymentIsAsTheAnnotationsOfTheDeploymentSay) {
  Make("apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: research}\nspec: {weight: 1}\n");
  MakeWorkload("Deployment", "web", "replicas: 2",
               R"(scheduling.volcano.sh/group-min-member: "2", scheduling.volcano.sh/queue-name: research)");
  std::string group;
  ASSERT_TRUE(RunInOneGroup("web", 2, group)) << Seen("web");
  EXPECT_EQ(Field(kGroups, group, ".spec.minMember"), "2");
  EXPECT_EQ(Field(kGroups, group, ".spec.queue"), "research");
  EXPECT_EQ(Field(kGroups, group, ".spec.minResources.cpu"), "200m");
  Kubectl({"annotate", "deployment", "web", "--overwrite", "volcano.sh/tier=gold"});
  EXPECT_TRUE(e2e::Eventually(
      kLimit, [&] { return Field(kGroups, group, R"(.metadata.annotations.volcano\.sh/tier)") == "gold"; }));
}

TEST_F(SuiteWorkloadsTest, ADeploymentThatIsRolledFiveTimesHasOneGroup) {
  MakeWorkload("Deployment", "web", "replicas: 3");
  for (int roll = 0; roll < 5; ++roll) {
    Kubectl({"patch", "deployment", "web", "-p",
             fmt::format(R"({{"spec":{{"template":{{"metadata":{{"annotations":{{"roll":"{}"}}}}}}}}}})", roll)});
  }
  std::string group;
  ASSERT_TRUE(RunInOneGroup("web", 3, group)) << Seen("web");
}

TEST_F(SuiteWorkloadsTest, AnEditOfAStatefulSetsAnnotationsAndARollReachItsGroup) {
  MakeWorkload("StatefulSet", "db", "replicas: 3\n  serviceName: db\n  podManagementPolicy: Parallel",
               R"(scheduling.volcano.sh/group-min-member: "3", volcano.sh/tier: gold)");
  std::string group;
  ASSERT_TRUE(RunInOneGroup("db", 3, group)) << Seen("db");
  EXPECT_EQ(Field(kGroups, group, ".spec.minMember"), "3");
  EXPECT_EQ(Field(kGroups, group, R"(.metadata.annotations.volcano\.sh/tier)"), "gold");
  Kubectl(
      {"annotate", "statefulset", "db", "--overwrite", "scheduling.volcano.sh/group-min-member=2", "volcano.sh/tier-"});
  EXPECT_TRUE(e2e::Eventually(kLimit, [&] {
    return Field(kGroups, group, ".spec.minMember") == "2" &&
           Field(kGroups, group, R"(.metadata.annotations.volcano\.sh/tier)").empty();
  })) << Seen("db");
  Kubectl({"patch", "statefulset", "db", "--type", "json", "-p",
           R"([{"op":"replace","path":"/spec/template/spec/containers/0/resources/requests/cpu","value":"200m"}])"});
  EXPECT_TRUE(e2e::Eventually(kLimit, [&] { return Field(kGroups, group, ".spec.minResources.cpu") == "400m"; }))
      << Field(kGroups, group, ".spec.minResources");
  ASSERT_TRUE(RunInOneGroup("db", 3, group)) << Seen("db");
}

TEST_F(SuiteWorkloadsTest, AJobsPodsShareAGroup) {
  Make(R"(apiVersion: batch/v1
kind: Job
metadata: {name: sums, annotations: {scheduling.volcano.sh/group-min-member: "2"}}
spec:
  parallelism: 3
  completions: 3
  template:
    metadata: {labels: {app: sums}, annotations: {kubesim.basalt.dev/duration: 600s}}
    spec: {schedulerName: volcano, restartPolicy: Never, containers: [{name: c, image: i}]}
)");
  std::string group;
  ASSERT_TRUE(RunInOneGroup("sums", 3, group)) << Seen("sums");
  EXPECT_EQ(Field(kGroups, group, ".spec.minMember"), "2");
}

// The API server runs with OwnerReferencesPermissionEnforcement.
TEST_F(SuiteWorkloadsTest, AGroupIsRefusedUntilThereIsTheRightToOwners) {
  const std::string role = BASALT_SOURCE_DIR "/deploy/rbac/owner-references";
  Kubectl({"delete", "-f", role});
  MakeWorkload("StatefulSet", "db", "replicas: 1\n  serviceName: db");
  EXPECT_TRUE(e2e::Eventually(kLimit, [&] {
    return Kubectl({"get", "events", "--field-selector", "involvedObject.name=db-0", "-o", "jsonpath={..message}"})
               .find("cannot set blockOwnerDeletion") != std::string::npos;
  })) << Kubectl({"get", "events"});
  Kubectl({"create", "-f", role});
  std::string group;
  EXPECT_TRUE(RunInOneGroup("db", 1, group)) << Seen("db");
}

// The garbage collector may delete a group that names the dead owner at any of its passes. The test therefore has
// several rounds.
TEST_F(SuiteWorkloadsTest, PodsOfAnOrphanedStatefulSetKeepAGroupWithoutTheDeadOwner) {
  for (int round = 0; round < 4; ++round) {
    const std::string name = fmt::format("db-{}", round);
    MakeWorkload("StatefulSet", name, "replicas: 2\n  serviceName: db");
    std::string group;
    ASSERT_TRUE(RunInOneGroup(name, 2, group)) << Seen(name);
    const std::string owner = Field("statefulset", name, ".metadata.uid");
    Kubectl({"delete", "statefulset", name, "--cascade=orphan"});
    EXPECT_TRUE(e2e::Eventually(kLimit, [&] {
      return RunInOneGroup(name, 2, group) &&
             Field(kGroups, group, ".metadata.ownerReferences[*].uid").find(owner) == std::string::npos;
    })) << Seen(name);
    Kubectl({"delete", "pods", "-l", "app=" + name});
    EXPECT_TRUE(HasNoGroup()) << Seen(name);
  }
}

}  // namespace
}  // namespace basalt::realkube
