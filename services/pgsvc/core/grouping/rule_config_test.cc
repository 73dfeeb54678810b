#include "services/pgsvc/core/grouping/rule_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/pgsvc/core/grouping/testing.h"

namespace basalt::pgsvc::testing {
namespace {

constexpr char kConfig[] = R"(
queueLabel: team/queue
rules:
- group: example.com
  kind: PyFlow
  minimum: [spec.minAvailable, spec.workers.replicas]
  priorityClassName: inference
- {group: batch, version: v1, kind: Job}
lookThrough:
- {group: example.com, version: v1, kind: Wrapper}
kindDefaults:
- {kind: PyFlow, group: example.com, preemptibility: Non-Preemptible}
)";

std::string GroupOf(const std::string& manifests, const RuleOptions& options) {
  Objects objects(manifests);
  objects.options = options;
  return objects.Text();
}

TEST(RuleConfigTest, ADeclaredRuleCountsAtTheFirstFieldAboveZero) {
  const auto options = ParseRuleConfig(kConfig);
  ASSERT_TRUE(options.ok()) << options.status();
  struct Case {
    const char* what;
    const char* spec;
    const char* group;
  };
  const Case cases[] = {
      {"the first field", "{minAvailable: 3, workers: {replicas: 8}}", "pg-f-pyflow-f 3"},
      {"the second one", "{workers: {replicas: 8}}", "pg-f-pyflow-f 8"},
      {"0 counts for nothing", "{minAvailable: 0, workers: {replicas: 8}}", "pg-f-pyflow-f 8"},
      {"neither", "{workers: {}}", "pg-f-pyflow-f 1"},
      {"nothing on the way", "{workers: 3}", "pg-f-pyflow-f 1"},
      {"no number", "{minAvailable: many}",
       "error: PyFlow default/f: spec.minAvailable: must be an integer of 32 bits"},
  };
  for (const Case& test : cases) {
    const std::string flow =
        fmt::format("---\napiVersion: example.com/v7\nkind: PyFlow\nmetadata: {{name: f}}\nspec: {}\n", test.spec);
    EXPECT_EQ(GroupOf(PodOf("p", "example.com/v7", "PyFlow", "f") + flow, *options), test.group) << test.what;
  }
}

TEST(RuleConfigTest, AConfiguredRuleReachesTheGroup) {
  const auto options = ParseRuleConfig(kConfig);
  ASSERT_TRUE(options.ok()) << options.status();
  Objects objects(PodOf("p", "example.com/v1", "PyFlow", "f", "  labels: {team/queue: research}\n") +
                  ObjectOf("example.com/v1", "PyFlow", "f", OwnedBy("example.com/v1", "Wrapper", "w")) +
                  ObjectOf("example.com/v1", "Wrapper", "w"));
  objects.options = *options;
  const Grouping grouping = objects.Of();
  EXPECT_EQ(grouping.name, "pg-f-pyflow-f") << "the wrapper is looked through";
  EXPECT_EQ(grouping.queue, "research");
  EXPECT_EQ(grouping.priority_class, "inference");
  EXPECT_EQ(grouping.preemptibility, "non-preemptible");
}

TEST(RuleConfigTest, ADeclaredRuleComesBeforeTheOneThatComesAlong) {
  const auto options = ParseRuleConfig(kConfig);
  ASSERT_TRUE(options.ok()) << options.status();
  const std::string job = PodOf("p", "batch/v1", "Job", "j") +
                          ObjectOf("batch/v1", "Job", "j",
                                   "  annotations: {kai.scheduler/batch-min-member: \"2\"}\nspec: {parallelism: 4}\n");
  EXPECT_EQ(GroupOf(job, RuleOptions()), "pg-j-job-j 2");
  EXPECT_EQ(GroupOf(job, *options), "pg-j-job-j 1");
}

TEST(RuleConfigTest, NothingIsConfiguredByAnEmptyFile) {
  for (const char* text : {"", "---", "# nothing", "{}"}) {
    const auto options = ParseRuleConfig(text);
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_EQ(options->queue_label, RuleOptions().queue_label);
    EXPECT_TRUE(options->rules.empty());
  }
}

TEST(RuleConfigTest, BadConfigurationIsRefusedByFieldAndRule) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"[", "line"},
      {"3", "the configuration: must be an object"},
      {"{}\n---\n{}", "the configuration: must be one document"},
      {"rule: []", "rule: there is no such field"},
      {"rules: {}", "rules: must be a list"},
      {"rules: [3]", "rules[0]: must be an object"},
      {"rules: [{kind: K}]", "rules[0].group: is required"},
      {"rules: [{group: g}]", "rules[0].kind: is required"},
      {"rules: [{group: g, kind: K, minimums: []}]", "rules[0].minimums: there is no such field"},
      {"rules: [{group: g, kind: K, minimum: spec}]", "rules[0].minimum: must be a list of paths"},
      {"rules: [{group: g, kind: K, minimum: [3]}]", "rules[0].minimum[0]: must be a path like spec.replicas"},
      {"rules: [{group: g, kind: K, minimum: [a, spec..b]}]", "rules[0].minimum[1]: "},
      {"rules: [{group: g, kind: K}, {group: g, kind: K}]", "rules[1]: kind K of g/* has a rule already"},
      {"lookThrough: [{group: g, kind: 3}]", "lookThrough[0].kind: must be a text"},
      {"kindDefaults: [{group: g}]", "kindDefaults[0].kind: is required"},
      {"kindDefaults: [{kind: K, preemptibility: never}]", "kindDefaults[0].preemptibility: "},
      {"kindDefaults: [{kind: K}, {kind: K}]", "kindDefaults[1]: kind K has defaults already"},
      {"knativeGangs: 3", "knativeGangs: must be true or false"},
      {"followQueue: often", "followQueue: must be true or false"},
      {"keepNamedGroups: 1", "keepNamedGroups: must be true or false"},
      {"jobPodsAlone: x", "jobPodsAlone: must be true or false"},
      {"kartas: 7", "kartas: must be true or false"},
      {"queueLabel: ''", "queueLabel: must be a text that is not empty"},
  };
  for (const Case& test : cases) {
    const auto options = ParseRuleConfig(test.text);
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument) << test.text;
    EXPECT_THAT(std::string(options.status().message()), ::testing::HasSubstr(test.message)) << test.text;
  }
}

}  // namespace
}  // namespace basalt::pgsvc::testing
