#include "cli/manifest.h"

#include <gtest/gtest.h>

namespace basalt::cli {
namespace {

constexpr std::string_view kJob = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\nspec: {}\n";

struct BadCase {
  std::string_view name;
  std::string text;
  std::string_view words;  // Must be in the message.
};

TEST(ManifestTest, EveryBrokenManifestIsRefusedWithItsPlaceAndRule) {
  const BadCase cases[] = {
      {"not YAML", "a: [1, 2\nb: }", "line"},
      {"no object", "- 1\n- 2\n", "not an object"},
      {"no kind", "apiVersion: batch.volcano.sh/v1alpha1\nmetadata: {name: a}\n", "kind: is required"},
      {"unknown kind", "apiVersion: v1\nkind: Teapot\nmetadata: {name: a}\n", "Teapot of v1 is not a job"},
      {"no metadata", "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nspec: {}\n", "metadata: is required"},
      {"no name", "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {}\nspec: {}\n",
       "metadata.name: is required"},
      {"name of a wrong type", "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: [1]}\nspec: {}\n",
       "metadata.name: must be"},
      {"no spec", "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\n", "spec: is required"},
      {"empty", "", "holds no document"},
      {"second document bad", std::string(kJob) + "---\nkind: Job\n", "document 2: apiVersion: is required"},
      {"too large", std::string(kMaxManifestBytes + 1, '#'), "more than"},
  };
  for (const BadCase& c : cases) {
    const auto result = ParseJobManifests("job.yaml", c.text);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << c.name;
    EXPECT_NE(result.status().ToString().find(c.words), std::string::npos) << c.name << ": " << result.status();
    EXPECT_NE(result.status().ToString().find("job.yaml"), std::string::npos) << c.name;
  }
}

TEST(ManifestTest, SeveralJobsAndEmptyDocumentsAreTaken) {
  const auto result = ParseJobManifests("job.yaml", std::string(kJob) + "---\n---\n" + std::string(kJob));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->size(), 2U);
  EXPECT_NE((*result)[0].json.find("\"kind\":\"Job\""), std::string::npos);
}

TEST(ManifestTest, OneJobThatStandsTwiceIsRefusedBeforeItsFirstIsSent) {
  const auto job = [](const char* meta) {
    return std::string("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nspec: {}\nmetadata: ") + meta + "\n---\n";
  };
  const auto check = [&](const std::string& text) {
    const auto manifests = ParseJobManifests("job.yaml", text);
    EXPECT_TRUE(manifests.ok()) << manifests.status();
    return manifests.ok() ? CheckDistinct(*manifests, "team").ToString() : "";
  };
  EXPECT_EQ(check(job("{name: a}") + job("{name: b}") + job("{name: a, namespace: other}")), "OK");
  EXPECT_EQ(check(job("{name: a}") + job("{name: b}") + job("{name: a, namespace: team}")),
            "INVALID_ARGUMENT: job.yaml, document 3: metadata.name: job team/a stands in job.yaml, document 1 already");
}

TEST(ManifestTest, AMissingFileIsNamed) {
  EXPECT_NE(ReadJobManifests("/nonexistent/x.yaml").status().ToString().find("/nonexistent/x.yaml"), std::string::npos);
}

}  // namespace
}  // namespace basalt::cli
