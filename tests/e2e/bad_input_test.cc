// Submits files that cannot become a job, and jobs with hostile values.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/harness.h"

namespace basalt::e2e {
namespace {

constexpr char kGood[] = R"(apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: good}
spec:
  minAvailable: 1
  tasks:
  - name: t
    replicas: 1
    template:
      spec:
        restartPolicy: Never
        containers: [{name: c, image: i, command: [sh, -c, "sleep 1"]}]
)";

std::string With(std::string_view from, std::string_view to, std::string text = kGood) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

struct BadInput {
  const char* name;
  std::string text;
  std::vector<std::string> words;  // The message must contain all of them.
};

class BadInputTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { world_ = new World(); }
  static void TearDownTestSuite() {
    delete world_;
    world_ = nullptr;
  }
  void SetUp() override { ASSERT_TRUE(world_->ok()); }
  static World* world_;
};
World* BadInputTest::world_ = nullptr;

// cli/manifest_test, services/jobsvc/api/manifest_test and validate_test have the rules. Each row here is refused by
// another part: by basaltctl, by jobsvc, and by Kubernetes alone.
TEST_F(BadInputTest, AMessageNamesFileDocumentFieldAndRule) {
  const std::string long_name(64, 'n');
  const std::vector<BadInput> cases = {
      {"not-yaml", "a: [1, 2\nb: }", {"not-yaml.yaml", "line"}},
      {"two-documents",
       std::string(kGood) + "---\n" + With("{name: good}", "{name: 7}"),
       {"two-documents.yaml", "document 2", "metadata.name"}},
      {"second-has-a-bad-field",
       std::string(kGood) + "---\n" + With("replicas: 1", "replicas: x", With("{name: good}", "{name: other}")),
       {"document 2", "spec.tasks[0].replicas", "expected a number, found a string"}},
      {"second-is-refused-by-the-server-alone",
       std::string(kGood) + "---\n" + With("{name: good}", "{name: other, labels: {a: \"x\\ny\"}}"),
       {"document 2", "metadata.labels"}},
      {"container-name", With("{name: c,", "{name: " + long_name + ","), {"spec.tasks[0].template"}},
      {"queue", With("minAvailable: 1", "queue: " + std::string(300'000, 'q')), {"spec.queue"}},
      {"annotation",
       With("{name: good}", "{name: hostile, annotations: {a: " + std::string(300'000, 'x') + "}}"),
       {"metadata.annotations", "262144"}},
      {"billion", With("replicas: 1", "replicas: 1000000000"), {"1000000000 pods in one job", "at most 200000"}},
      {"escape-sequences", With("minAvailable: 1", "\"\\e[2J\": 1"), {"there is no such field"}},
  };
  for (const BadInput& bad : cases) {
    SCOPED_TRACE(bad.name);
    const std::string file = world_->dir() / fmt::format("{}.yaml", bad.name);
    WriteFile(file, bad.text);
    const Ran ran = world_->Ctl({"job", "submit", "-f", file});
    EXPECT_EQ(ran.exit_code, 2) << ran.out << ran.err;
    EXPECT_LT(ran.err.size(), 5000u) << "words, not the value itself";
    for (const std::string& word : bad.words) EXPECT_THAT(ran.err, ::testing::HasSubstr(word));
    EXPECT_EQ(ran.err.find('\x1b'), std::string::npos) << "a terminal obeys it";
    EXPECT_EQ(world_->JobCount(), 0u);
  }
  for (const Write& write : world_->Log()) {
    EXPECT_FALSE(write.resource == "jobs" && write.Succeeded()) << write.verb << " " << write.name;
  }
  EXPECT_THAT(world_->suite().Casualties(), ::testing::IsEmpty());
}

TEST_F(BadInputTest, NoDocumentIsSubmittedWhereAnotherIsRefused) {
  const std::string first = world_->dir() / "first.yaml";
  WriteFile(first, With("{name: good}", "{name: there}"));
  EXPECT_EQ(world_->Ctl({"job", "submit", "-f", first, "--dry-run"}).exit_code, 0);
  EXPECT_EQ(world_->JobCount(), 0u) << "a dry run makes nothing";
  EXPECT_EQ(world_->Ctl({"job", "submit", "-f", first}).exit_code, 0);
  const std::string both = world_->dir() / "both.yaml";
  WriteFile(both, With("{name: good}", "{name: fresh}") + "---\n" + With("{name: good}", "{name: there}"));
  for (const bool dry_run : {true, false}) {
    std::vector<std::string> words = {"job", "submit", "-f", both};
    if (dry_run) words.push_back("--dry-run");
    const Ran ran = world_->Ctl(words);
    EXPECT_EQ(ran.exit_code, 1) << ran.out;
    EXPECT_THAT(ran.err, ::testing::HasSubstr("both.yaml, document 2, job there: job default/there exists already"));
    EXPECT_EQ(world_->JobCount(), 1u);
  }
  WriteFile(both,
            With("{name: good}", "{name: fresh}") + "---\n" + With("{name: good}", "{name: x, namespace: nowhere}"));
  const Ran nowhere = world_->Ctl({"job", "submit", "-f", both});
  EXPECT_EQ(nowhere.exit_code, 1) << nowhere.out;
  EXPECT_THAT(nowhere.err, ::testing::HasSubstr("document 2, job x: namespaces \"nowhere\" not found"));
  EXPECT_EQ(world_->JobCount(), 1u);
  EXPECT_EQ(world_->Ctl({"job", "delete", "there"}).exit_code, 0);
  EXPECT_TRUE(Eventually(absl::Seconds(20), [&] { return world_->JobCount() == 0; }));
}

}  // namespace
}  // namespace basalt::e2e
