// Tests deploy/admission on a real API server, without the suite: the server enforces each rule and sets each default.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/testing/status_matchers.h"
#include "tests/e2e/harness.h"
#include "tests/realkube/cluster.h"

namespace basalt::realkube {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

std::string Queue(std::string_view name, std::string_view parent = "root", std::string_view annotations = "",
                  std::string_view spec = "weight: 1") {
  return fmt::format(
      "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {{name: {}, annotations: {{{}}}}}\n"
      "spec: {{parent: \"{}\", {}}}\n",
      name, annotations, parent, spec);
}

std::string Group(std::string_view queue) {
  return fmt::format(
      "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {{generateName: g-, namespace: default}}\n"
      "spec: {{minMember: 1, queue: {}}}\n",
      queue);
}

std::string Job(std::string_view queue) {
  return fmt::format(
      "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {{generateName: j-}}\nspec:\n{}"
      "  tasks:\n  - {{name: t, replicas: 1, template: {{spec: {{containers: [{{name: c, image: i}}]}}}}}}\n",
      queue.empty() ? "" : fmt::format("  queue: {}\n", queue));
}

class AdmissionTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto cluster = Cluster::Start({.nodes = 0, .kwok = false});
    ASSERT_THAT(cluster, basalt::testing::IsOk());
    cluster_ = std::move(*cluster);
    ASSERT_THAT(cluster_->Kubectl({"apply", "--recursive", "-f", BASALT_SOURCE_DIR "/deploy/admission"}),
                basalt::testing::IsOk());
    // A policy whose parameters are queues refuses every request until the server has found the definition of queues.
    for (const std::string& manifest :
         {std::string("apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: root}\n"),
          Queue("default"), Queue("team"), Queue("nlp", "team"), Queue("closed")}) {
      ASSERT_TRUE(e2e::Eventually(absl::Seconds(60), [&] { return Create(manifest).empty(); })) << manifest;
    }
    for (const char* queue : {"root", "default", "team", "nlp"}) SetState(queue, "Open");
    SetState("closed", "Closed");
    // Each policy comes into force separately, a moment after its creation.
    const std::string wrong = Queue("w", "root", R"(volcano.sh/hierarchy: "a/b", volcano.sh/hierarchy-weights: "1")");
    const std::string bent = Queue("w", "root", R"(volcano.sh/hierarchy: "a", volcano.sh/hierarchy-weights: "1")");
    ASSERT_TRUE(e2e::Eventually(absl::Seconds(60), [&] {
      return !Run({"delete", "queue", "root", "--dry-run=server"}).empty() &&
             !Run({"delete", "queue", "team", "--dry-run=server"}).empty() && !Create(Job("closed"), true).empty() &&
             !Create(Group("closed"), true).empty() && !Create(wrong, true).empty() &&
             Create(bent, true, "jsonpath={.metadata.annotations}").find("root/a") != std::string::npos &&
             Create(Job("nlp"), true).empty() && Create(Group("team"), true).empty();
    }));
    ASSERT_EQ(
        Create(Queue("cap", "root", "", "capability: {cpu: 10}, deserved: {cpu: 8}, guarantee: {resource: {cpu: 4}}")),
        "");
    ASSERT_EQ(
        Create(Queue("low", "cap", "", "capability: {cpu: 5}, deserved: {cpu: 5}, guarantee: {resource: {cpu: 3}}")),
        "");
    ASSERT_TRUE(e2e::Eventually(absl::Seconds(60),
                                [] { return !Create(Queue("w", "cap", "", "capability: {cpu: 11}"), true).empty(); }));
  }
  static void TearDownTestSuite() { cluster_.reset(); }

  // Returns the message with which the server refuses the command. Empty if the server accepts the command.
  static std::string Run(const std::vector<std::string>& words) {
    return std::string(cluster_->Kubectl(words).status().message());
  }
  // Returns the message of a refusal, or, if `output` is set, that part of the object that the server creates.
  static std::string Create(const std::string& manifest, bool is_dry_run = false, const std::string& output = "") {
    const std::string file = cluster_->dir() + "/manifest.yaml";
    e2e::WriteFile(file, manifest);
    std::vector<std::string> words = {"create", "-f", file};
    if (is_dry_run) words.push_back("--dry-run=server");
    if (output.empty()) return Run(words);
    words.insert(words.end(), {"-o", output});
    return cluster_->Kubectl(words).value_or("");
  }
  static std::string Change(const std::string& queue, const std::string& spec) {
    return Run(
        {"patch", "queue", queue, "--dry-run=server", "--type=merge", "-p", fmt::format(R"({{"spec":{}}})", spec)});
  }
  static void SetState(const std::string& queue, const std::string& state) {
    EXPECT_EQ(Run({"patch", "queue", queue, "--subresource=status", "--type=merge", "-p",
                   fmt::format(R"({{"status":{{"state":"{}"}}}})", state)}),
              "");
  }

  inline static std::unique_ptr<Cluster> cluster_;
};

TEST_F(AdmissionTest, JobsGoIntoOpenQueuesThatHaveNoneBelow) {
  EXPECT_EQ(Create(Job("nlp"), true), "");
  EXPECT_EQ(Create(Job(""), true), "");
  EXPECT_THAT(Create(Job("closed"), true), HasSubstr("spec.queue: queue closed is Closed; it must be Open"));
  EXPECT_THAT(Create(Job("team"), true),
              HasSubstr("spec.queue: queue team has queues below it, as nlp; name one that has none"));
  SetState("nlp", "Closing");
  EXPECT_THAT(Create(Job("nlp"), true), HasSubstr("spec.queue: queue nlp is Closing; it must be Open"));
  SetState("nlp", "Open");
  EXPECT_EQ(Create(Queue("new")), "");
  EXPECT_THAT(Create(Job("new"), true), HasSubstr("spec.queue: queue new is not open yet; it must be Open"));
  EXPECT_EQ(Run({"delete", "queue", "new"}), "");
}

TEST_F(AdmissionTest, PodGroupsGoIntoOpenQueues) {
  EXPECT_EQ(Create(Group("team"), true), "");
  EXPECT_THAT(Create(Group("closed"), true), HasSubstr("spec.queue: queue closed is Closed; it must be Open"));
}

TEST_F(AdmissionTest, AQueueFitsBesideItsParentAndItsChildren) {
  const auto low = [](std::string_view spec) { return Create(Queue("w", "cap", "", spec), true); };
  EXPECT_EQ(low("capability: {cpu: 10, memory: 1Gi}, deserved: {cpu: 8}, guarantee: {resource: {cpu: 4}}"), "");
  EXPECT_THAT(low("capability: {cpu: 11}"), HasSubstr("spec.capability: must not be more than that of the parent cap"));
  EXPECT_THAT(low("deserved: {cpu: 9}"), HasSubstr("spec.deserved: must not be more than that of the parent cap"));
  EXPECT_THAT(low("deserved: {nvidia.com/gpu: 1}"), HasSubstr("spec.deserved: must not be more than"));
  EXPECT_THAT(low("deserved: {cpu: 8}, guarantee: {resource: {cpu: 5}}"),
              HasSubstr("spec.guarantee.resource: must not be more than that of the parent cap"));
  EXPECT_EQ(Change("cap", R"({"capability":{"cpu":9}})"), "");
  EXPECT_EQ(Change("cap", R"({"weight":3})"), "");
  EXPECT_THAT(Change("cap", R"({"capability":{"cpu":4},"deserved":{"cpu":4}})"),
              HasSubstr("spec.capability: must not be less than that of the child low"));
  EXPECT_THAT(Change("cap", R"({"deserved":{"cpu":4}})"),
              HasSubstr("spec.deserved: must not be less than that of the child low"));
  EXPECT_THAT(Change("cap", R"({"guarantee":{"resource":{"cpu":2}}})"),
              HasSubstr("spec.guarantee.resource: must not be less than that of the child low"));
}

TEST_F(AdmissionTest, AQueueThatOthersNeedIsNotDeleted) {
  // Two policies refuse the deletion, and the server reports the one that refused first.
  EXPECT_THAT(Run({"delete", "queue", "root"}),
              AnyOf(HasSubstr("queue root cannot be deleted"), HasSubstr("queue root is the parent of queue ")));
  EXPECT_THAT(Run({"delete", "queue", "default"}), HasSubstr("queue default cannot be deleted"));
  EXPECT_THAT(Run({"delete", "queue", "team"}), HasSubstr("queue team is the parent of queue nlp"));
  EXPECT_EQ(Run({"delete", "queue", "nlp", "--dry-run=server"}), "");
}

TEST_F(AdmissionTest, AnOpenQueueThatHoldsPodGroupsIsNotDeleted) {
  ASSERT_EQ(Create(Queue("busy")), "");
  const auto set_status = [](const std::string& status) {
    EXPECT_EQ(Run({"patch", "queue", "busy", "--subresource=status", "--type=merge", "-p",
                   fmt::format(R"({{"status":{}}})", status)}),
              "");
  };
  const auto deletion = [] { return Run({"delete", "queue", "busy", "--dry-run=server"}); };
  set_status(R"({"state":"Open","running":2,"completed":1})");
  EXPECT_THAT(deletion(), HasSubstr("queue busy is Open, and 3 pod groups name it: close the queue, and delete or move "
                                    "their jobs first"));
  set_status(R"({"state":"Closing"})");
  EXPECT_EQ(deletion(), "") << "somebody has closed the queue";
  set_status(R"({"state":"Open","running":0,"completed":null})");
  EXPECT_EQ(deletion(), "");
}

TEST_F(AdmissionTest, HierarchyAndWeightsFitEachOtherAndBeginWithRoot) {
  const auto annotations = [](std::string_view hierarchy, std::string_view weights) {
    return fmt::format("volcano.sh/hierarchy: \"{}\", volcano.sh/hierarchy-weights: \"{}\"", hierarchy, weights);
  };
  EXPECT_EQ(Create(Queue("eng", "root", annotations("eng/dev", "2/8"))), "");
  EXPECT_EQ(
      cluster_->Kubectl({"get", "queue", "eng", "-o", R"(jsonpath={.metadata.annotations['volcano\.sh/hierarchy']})"})
          .value_or(""),
      "root/eng/dev");
  EXPECT_EQ(cluster_
                ->Kubectl({"get", "queue", "eng", "-o",
                           R"(jsonpath={.metadata.annotations['volcano\.sh/hierarchy-weights']})"})
                .value_or(""),
            "1/2/8");
  EXPECT_EQ(Create(Queue("sci", "root", annotations("root/sci", "1/0.5")), true), "");
  EXPECT_THAT(Create(Queue("sci", "root", annotations("root/sci", "1")), true),
              HasSubstr("\"root/sci\" and volcano.sh/hierarchy-weights \"1\" must have as many parts"));
  EXPECT_THAT(Create(Queue("sci", "root", annotations("root/sci", "1/0")), true),
              HasSubstr("\"1/0\": each part must be a number above 0"));
  EXPECT_THAT(Create(Queue("sci", "root", annotations("root/sci", "1/-2")), true), HasSubstr("a number above 0"));
  EXPECT_THAT(Create(Queue("sci", "root", annotations("root/sci", "1/x")), true), HasSubstr("a number above 0"));
  EXPECT_THAT(Create(Queue("above", "root", annotations("root/eng", "1/2")), true),
              HasSubstr("is above that of queue eng"));
  EXPECT_THAT(Run({"annotate", "--overwrite", "queue", "eng", "volcano.sh/hierarchy-weights=1/2"}),
              HasSubstr("must have as many parts"));
  EXPECT_EQ(Run({"delete", "queue", "eng"}), "");
}

}  // namespace
}  // namespace basalt::realkube
