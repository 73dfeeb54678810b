#include "services/pgsvc/api/try_grouping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/base/json.h"
#include "common/base/yaml.h"
#include "common/testing/status_matchers.h"
#include "services/pgsvc/core/grouping/rule_config.h"
#include "services/pgsvc/testing/manifests.h"

namespace basalt::pgsvc {
namespace {

using basalt::testing::IsOk;
using basalt::testing::StatusIs;
using podgroup::v1::TriedPod;
using podgroup::v1::TryGroupingRequest;
using ::testing::HasSubstr;

constexpr char kJob[] = R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","uid":"u1",
    "annotations":{"kai.scheduler/batch-min-member":"5"},"labels":{"kai.scheduler/queue":"research"}},
    "spec":{"parallelism":2}})";

std::string PodOf(const std::string& name) {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
         R"(","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"u1","controller":true}]}})";
}

TryGroupingRequest RequestOf(const std::vector<std::string>& objects) {
  TryGroupingRequest request;
  for (const std::string& object : objects) request.add_objects(object);
  return request;
}

TEST(TryGroupingTest, ShowsEachPodAndOfEachGroupWhereItsFieldsComeFrom) {
  const auto response = TryGrouping(RequestOf({kJob, PodOf("b"), PodOf("a")}), {});
  ASSERT_THAT(response, IsOk());
  ASSERT_EQ(response->pods_size(), 2);
  EXPECT_EQ(response->pods(0).name(), "b");
  EXPECT_EQ(response->pods(0).verdict(), TriedPod::VERDICT_GROUPED);
  EXPECT_EQ(response->pods(0).decided_by(), "Job default/j");
  EXPECT_EQ(response->pods(0).group(), "pg-j-u1");
  ASSERT_EQ(response->groups_size(), 1);
  const auto& group = response->groups(0);
  EXPECT_EQ(group.name(), "pg-j-u1");
  EXPECT_THAT(group.manifest(), HasSubstr(R"("minMember":2)"));
  ASSERT_EQ(group.warnings_size(), 1);
  EXPECT_THAT(group.warnings(0), HasSubstr("a minimum of 5 can never be met"));
  const auto& sources = group.sources();
  EXPECT_TRUE(std::any_of(sources.begin(), sources.end(), [](const auto& one) {
    return one.field() == "queue" && one.source() == "label kai.scheduler/queue of Job default/j";
  }));
}

TEST(TryGroupingTest, IsTheSameInWhicheverOrderObjectsCome) {
  const std::string other = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"b","labels":{"user":"eve"},
      "ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"u1","controller":true}]},
      "spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]}})";
  std::vector<std::string> objects = {PodOf("a"), other, kJob};
  std::sort(objects.begin(), objects.end());
  std::string first;
  do {
    TryGroupingRequest request = RequestOf(objects);
    request.set_form(TryGroupingRequest::FORM_VOLCANO);
    const auto response = TryGrouping(request, {});
    ASSERT_THAT(response, IsOk());
    ASSERT_EQ(response->groups_size(), 1);
    if (first.empty()) first = response->groups(0).SerializeAsString();
    EXPECT_EQ(response->groups(0).SerializeAsString(), first);
  } while (std::next_permutation(objects.begin(), objects.end()));
}

TEST(TryGroupingTest, AnObjectWithoutAUidIsMeantByWhoeverNamesIt) {
  const char* const job = R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"}})";
  const auto named = TryGrouping(RequestOf({job, PodOf("a")}), {});
  ASSERT_THAT(named, IsOk());
  EXPECT_EQ(named->pods(0).group(), "pg-j-u1");
  const auto unnamed = TryGrouping(RequestOf({job, R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a",
      "ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j"}]}})"}),
                                   {});
  ASSERT_THAT(unnamed, IsOk());
  EXPECT_EQ(unnamed->pods(0).group(), "pg-j-job-j");
}

TEST(TryGroupingTest, APodWhoseOwnerIsMissingFailsAloneAndSaysSo) {
  const auto response =
      TryGrouping(RequestOf({PodOf("a"), R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}})"}), {});
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->pods(0).verdict(), TriedPod::VERDICT_FAILED);
  EXPECT_THAT(response->pods(0).error(), HasSubstr("Job default/j"));
  EXPECT_EQ(response->pods(1).verdict(), TriedPod::VERDICT_GROUPED);
}

TEST(TryGroupingTest, BadObjectsAreRefusedWithTheirField) {
  struct Case {
    std::vector<std::string> objects;
    const char* message;
  };
  const Case cases[] = {
      {{"{"}, "objects[0]: "},
      {{kJob, "[]"}, "objects[1]: not an object"},
      {{R"({"kind":"Pod","metadata":{"name":"p"}})"}, "objects[0]: apiVersion: is required"},
      {{R"({"apiVersion":"v1","metadata":{"name":"p"}})"}, "objects[0]: kind: is required"},
      {{R"({"apiVersion":"v1","kind":"Pod"})"}, "objects[0]: Pod: metadata.name: is required"},
      {{kJob, kJob}, "objects[1]: Job default/j: stands there twice"},
      {std::vector<std::string>(2'001, kJob), "objects: there may be 2000 at most"},
  };
  for (const Case& test : cases) {
    EXPECT_THAT(TryGrouping(RequestOf(test.objects), {}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(test.message)));
  }
}

TEST(TryGroupingTest, MoreThanFitsIntoAnAnswerIsRefused) {
  // Each pod has a group, with the annotations of the Deployment.
  const std::string large(1 << 20, 'x');
  std::vector<std::string> objects = {R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","uid":"u1",
      "annotations":{"note":")" + large +
                                      R"("}}})"};
  for (int i = 0; i < 10; ++i) {
    objects.push_back(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p)" + std::to_string(i) +
                      R"(","ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"d","uid":"u1"}]}})");
  }
  EXPECT_THAT(TryGrouping(RequestOf(objects), {}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("try fewer")));
}

TEST(TryGroupingTest, TheFormOfVolcanoHasTheResourcesOfItsPods) {
  TryGroupingRequest request = RequestOf({kJob, PodOf("a")});
  request.add_objects(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"b","ownerReferences":[
      {"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"u1","controller":true}]},
      "spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]}})");
  request.set_form(TryGroupingRequest::FORM_VOLCANO);
  auto response = TryGrouping(request, {});
  ASSERT_THAT(response, IsOk());
  EXPECT_THAT(response->groups(0).manifest(), HasSubstr(R"("minMember":2,"queue":"research","minResources":{})"))
      << "the first pod in order says nothing of resources";
  request.mutable_objects()->DeleteSubrange(1, 1);
  response = TryGrouping(request, {});
  ASSERT_THAT(response, IsOk());
  EXPECT_THAT(response->groups(0).manifest(), HasSubstr(R"("cpu":"4")"));
}

// Returns the first block of YAML below a heading.
std::string BlockAfter(const std::string& page, const std::string& heading) {
  const size_t begin = page.find("```yaml\n", page.find(heading)) + 8;
  return page.substr(begin, page.find("\n```", begin) - begin);
}

TEST(TryGroupingTest, TheConfigurationOfThePageIsTaken) {
  const std::string page = ReadFile(BASALT_SOURCE_DIR "/docs/pod-groups.md");
  const auto options = ParseRuleConfig(BlockAfter(page, "## Rules of your own"));
  ASSERT_THAT(options, IsOk());
  EXPECT_EQ(options->rules.size(), 1U);
  EXPECT_EQ(options->queue_label, RuleOptions().queue_label) << "the page says that these are the defaults";
  EXPECT_EQ(options->node_pool_label, RuleOptions().node_pool_label);
}

// docs/pod-groups.md shows the groups of these objects.
TEST(TryGroupingTest, TheExampleOfThePageIsTrue) {
  const std::string page = ReadFile(BASALT_SOURCE_DIR "/docs/pod-groups.md");
  const auto documents = ParseYamlDocuments(BlockAfter(page, "## Trying the rules"));
  ASSERT_THAT(documents, IsOk());
  TryGroupingRequest request;
  for (const json::value& document : *documents) request.add_objects(ToText(document));
  const auto response = TryGrouping(request, {});
  ASSERT_THAT(response, IsOk());
  ASSERT_EQ(response->groups_size(), 1);
  const auto& group = response->groups(0);
  EXPECT_THAT(page, HasSubstr("Pod group default/" + group.name() + "\n" +
                              ToYaml(*Find(*ParseJson(group.manifest()), "spec"))));
  for (const auto& source : group.sources()) {
    EXPECT_THAT(page, HasSubstr("# " + source.field() + ": " + source.source() + "\n"));
  }
  ASSERT_EQ(group.warnings_size(), 1);
  EXPECT_THAT(page, HasSubstr("warning: " + group.warnings(0) + "\n"));
  EXPECT_THAT(page, HasSubstr(response->pods(0).rule() + "\n"));
}

TEST(ListGroupingRulesTest, NamesTheKindsThatHaveRulesAndThoseThatAreLookedThrough) {
  RuleOptions options;
  options.rules.push_back(
      {.kind = {"example.com", "*", "PyFlow"}, .minimum = {{"spec", "replicas"}}, .priority_class = ""});
  options.looked_through.push_back({"example.com", "*", "Wrapper"});
  const auto response = ListGroupingRules(options);
  const auto& rules = response.rules();
  const auto has = [&rules](const std::string& kind, bool looked_through) {
    return std::any_of(rules.begin(), rules.end(), [&](const auto& rule) {
      return rule.kind() == kind && rule.looked_through() == looked_through && !rule.summary().empty();
    });
  };
  EXPECT_TRUE(has("JobSet", false));
  EXPECT_TRUE(has("TrainJob", true));
  EXPECT_TRUE(has("Wrapper", true));
  EXPECT_EQ(rules.Get(0).kind(), "PyFlow");
  EXPECT_EQ(rules.Get(0).summary(), "configured; minimum: spec.replicas, else 1");
}

}  // namespace
}  // namespace basalt::pgsvc
