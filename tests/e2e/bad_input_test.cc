// Submits files that cannot become a job, and jobs with hostile values.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

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

std::string Nested(size_t levels) { return std::string(levels, '[') + "1" + std::string(levels, ']'); }

// Returns nine lists of nine aliases each: a few hundred bytes that expand to nine to the ninth values.
std::string AliasBomb() {
  std::string text = "a0: &a0 [x]\n";
  for (int i = 1; i <= 9; ++i) {
    text += fmt::format("a{0}: &a{0} [", i);
    for (int j = 0; j < 9; ++j) text += fmt::format("{}*a{}", j == 0 ? "" : ", ", i - 1);
    text += "]\n";
  }
  return text;
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

TEST_F(BadInputTest, AMessageNamesFileDocumentFieldAndRuleAndNothingIsSubmitted) {
  const std::vector<BadInput> cases = {
      {"not YAML", "a: [1, 2\nb: }", {"not-yaml.yaml", "line"}},
      {"text", "just words", {"text.yaml"}},
      {"empty", "", {"empty.yaml", "no document"}},
      {"kind", With("kind: Job", "kind: Tree"), {"kind.yaml", "kind", "Tree"}},
      {"other kind", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {}\n", {"other-kind.yaml", "Pod"}},
      {"no kind", With("kind: Job\n", ""), {"no-kind.yaml", "kind", "required"}},
      {"no name", With("{name: good}", "{}"), {"no-name.yaml", "metadata.name", "required"}},
      {"no spec", "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: good}\n", {"spec", "required"}},
      {"no tasks",
       "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: good}\nspec: {}\n",
       {"no-tasks.yaml", "tasks"}},
      {"type", With("replicas: 1", "replicas: many"), {"type.yaml", "replicas"}},
      {"tasks as text", With("minAvailable: 1", "minAvailable: [1]"), {"tasks-as-text.yaml", "minAvailable"}},
      {"two documents",
       std::string(kGood) + "---\n" + With("{name: good}", "{name: 7}"),
       {"two-documents.yaml", "document 2", "metadata.name"}},
      {"second has a bad field",
       std::string(kGood) + "---\n" + With("replicas: 1", "replicas: x", With("{name: good}", "{name: other}")),
       {"document 2", "spec.tasks[0].replicas", "expected a number, found a string"}},
      {"second is refused by the server alone",
       std::string(kGood) + "---\n" + With("{name: good}", "{name: other, labels: {a: \"x\\ny\"}}"),
       {"document 2", "metadata.labels"}},
      {"same job twice", std::string(kGood) + "---\n" + kGood, {"document 2", "metadata.name", "default/good"}},
      {"unknown field", With("minAvailable: 1", "minavailable: 1"), {"spec.minavailable", "there is no such field"}},
      {"task is null", With("- name: t", "- null\n  - name: t"), {"spec.tasks[0]", "must not be null"}},
      {"no template", With("template:", "topologyPolicy: none\n    x-template:"), {"spec.tasks[0].x-template"}},
      {"no containers", With("containers: [", "restartCount: ["), {"no-containers.yaml", "spec.tasks[0].template"}},
      {"label is a number", With("{name: good}", "{name: good, labels: {a: 1}}"), {"metadata.labels.a"}},
      {"fraction", With("replicas: 1", "replicas: 1.5"), {"spec.tasks[0].replicas", "whole number"}},
      {"key twice", With("minAvailable: 1", "minAvailable: 1\n  minAvailable: 2"), {"key-twice.yaml", "minAvailable"}},
      {"generated name", With("{name: good}", "{name: good, generateName: x}"), {"metadata.generateName"}},
      {"bytes", std::string("\x00\x01\xff\xfe", 4) + std::string(1000, '\x80'), {"bytes.yaml"}},
      {"alias bomb", AliasBomb(), {"alias-bomb.yaml", "million values"}},
      {"very deep", "a: " + Nested(100'000), {"very-deep.yaml", "100 levels"}},
      {"escape sequences", With("minAvailable: 1", "\"\\e[2J\": 1"), {"there is no such field"}},
  };
  for (const BadInput& bad : cases) {
    std::string file = bad.name;
    for (char& c : file) c = c == ' ' ? '-' : static_cast<char>(std::tolower(c));
    file = world_->dir() / (file + ".yaml");
    WriteFile(file, bad.text);
    const Ran ran = world_->Ctl({"job", "submit", "-f", file});
    EXPECT_EQ(ran.exit_code, 2) << bad.name << ": " << ran.out << ran.err;
    for (const std::string& word : bad.words) EXPECT_THAT(ran.err, ::testing::HasSubstr(word)) << bad.name;
    EXPECT_EQ(ran.err.find('\x1b'), std::string::npos) << bad.name << ": a terminal obeys it";
    EXPECT_EQ(world_->JobCount(), 0u) << bad.name;
  }
  for (const Write& write : world_->Log()) {
    EXPECT_FALSE(write.resource == "jobs" && write.Succeeded()) << write.verb << " " << write.name;
  }
}

TEST_F(BadInputTest, OfSeveralDocumentsNoneIsSubmittedWhereOneExistsAlready) {
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
  const Ran other = world_->Ctl({"job", "submit", "-f", both, "-n", "default"});
  EXPECT_EQ(other.exit_code, 2) << other.out;
  EXPECT_THAT(other.err, ::testing::HasSubstr("metadata.namespace: is nowhere, but default was asked for"));
  EXPECT_EQ(world_->JobCount(), 1u);
  const Ran another = world_->Ctl({"job", "delete", "there", "--uid", "of-another"});
  EXPECT_EQ(another.exit_code, 1) << another.out;
  EXPECT_THAT(another.err, ::testing::HasSubstr("job default/there with UID of-another does not exist"));
  EXPECT_EQ(world_->Ctl({"job", "delete", "there"}).exit_code, 0);
  EXPECT_TRUE(Eventually(absl::Seconds(20), [&] { return world_->JobCount() == 0; }));
}

TEST_F(BadInputTest, WhatIsAcceptedAndHardlyMeantIsWarnedOfAndAnUnknownQueueIsRefused) {
  const std::string file = world_->dir() / "odd.yaml";
  WriteFile(file, With("minAvailable: 1", "minAvailable: 1\n  policies: [{event: PodPending, action: RestartJob}]"));
  const Ran odd = world_->Ctl({"job", "submit", "-f", file, "--dry-run"});
  EXPECT_EQ(odd.exit_code, 0) << odd.err;
  EXPECT_THAT(odd.err, ::testing::HasSubstr("warning: "));
  EXPECT_THAT(odd.err, ::testing::HasSubstr("odd.yaml, job good: spec.policies[0]"));
  EXPECT_THAT(odd.out, ::testing::Not(::testing::HasSubstr("warning")));
  WriteFile(file, With("minAvailable: 1", "minAvailable: 1\n  queue: nobody-made-it"));
  // No job is refused for its queue while the suite knows no queue at all. A server that has just received the
  // definitions creates the default queue a moment later.
  EXPECT_TRUE(Eventually(absl::Seconds(20), [&] {
    return world_->Ctl({"job", "submit", "-f", file, "--dry-run"}).exit_code == 2;
  }));
  const Ran queue = world_->Ctl({"job", "submit", "-f", file});
  EXPECT_EQ(queue.exit_code, 2) << queue.out;
  EXPECT_THAT(queue.err, ::testing::HasSubstr("odd.yaml, job good: spec.queue 'nobody-made-it' does not exist"));
  EXPECT_EQ(world_->JobCount(), 0u);
}

TEST_F(BadInputTest, AHugeFileIsRefusedWithoutBeingRead) {
  const std::string file = world_->dir() / "huge.yaml";
  WriteFile(file, "");
  std::filesystem::resize_file(file, 300'000'000);
  const Ran ran = world_->Ctl({"job", "submit", "-f", file}, absl::Seconds(20));
  EXPECT_EQ(ran.exit_code, 2) << ran.err;
  EXPECT_THAT(ran.err, ::testing::HasSubstr("huge.yaml"));
  EXPECT_THAT(ran.err, ::testing::HasSubstr("bytes"));
  EXPECT_EQ(world_->Ctl({"job", "submit", "-f", world_->dir() / "not-there.yaml"}).exit_code, 2);
  const Ran folder = world_->Ctl({"job", "submit", "-f", world_->dir() / ""});
  EXPECT_EQ(folder.exit_code, 2);
  EXPECT_THAT(folder.err, ::testing::HasSubstr("cannot be read"));
  EXPECT_EQ(world_->Ctl({"job", "explode"}).exit_code, 2);
}

TEST_F(BadInputTest, HostileValuesHarmThatJobAlone) {
  const std::string long_name(64, 'n');
  const std::vector<BadInput> cases = {
      {"name", With("{name: good}", "{name: " + long_name + "}"), {"metadata.name"}},
      {"task name", With("- name: t\n", "- name: " + long_name + "\n"), {"tasks[0].name"}},
      {"negative", With("replicas: 1", "replicas: -1"), {"spec.tasks[0].replicas"}},
      {"beyond 32 bits", With("replicas: 1", "replicas: 4294967297"), {"spec.tasks[0].replicas", "is not between"}},
      {"path", With("{name: good}", "{name: ../../pods/x}"), {"metadata.name"}},
      {"container name", With("{name: c,", "{name: " + long_name + ","), {"spec.tasks[0].template"}},
      {"queue", With("minAvailable: 1", "queue: " + std::string(300'000, 'q')), {"spec.queue"}},
      {"huge key", With("minAvailable: 1", std::string(900, 'k') + ": 1"), {"there is no such field"}},
      {"label", With("{name: good}", "{name: hostile, labels: {a: \"x\\ny\"}}"), {"metadata.labels"}},
      {"annotation",
       With("{name: good}", "{name: hostile, annotations: {a: " + std::string(300'000, 'x') + "}}"),
       {"metadata.annotations", "262144"}},
      {"deep", With("{name: good}", "{name: hostile, annotations: {a: " + Nested(3000) + "}}"), {"100 levels"}},
      {"billion", With("replicas: 1", "replicas: 1000000000"), {"1000000000 pods in one job", "at most 200000"}},
  };
  for (const BadInput& bad : cases) {
    const std::string file = world_->dir() / fmt::format("hostile-{}.yaml", bad.name);
    WriteFile(file, bad.text);
    const Ran ran = world_->Ctl({"job", "submit", "-f", file});
    EXPECT_TRUE(ran.exit_code == 1 || ran.exit_code == 2) << bad.name << ": " << ran.exit_code << ran.out;
    EXPECT_THAT(ran.err, ::testing::HasSubstr("error: ")) << bad.name;
    EXPECT_LT(ran.err.size(), 5000u) << bad.name << ": words, not the value itself";
    for (const std::string& word : bad.words) EXPECT_THAT(ran.err, ::testing::HasSubstr(word)) << bad.name;
  }
  EXPECT_EQ(world_->JobCount(), 0u);

  const std::string file = world_->dir() / "good.yaml";
  WriteFile(file, kGood);
  const Ran ran = world_->Ctl({"job", "submit", "-f", file, "--watch"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_EQ(world_->JobPhase("good"), "Completed");
  EXPECT_EQ(world_->JobCount(), 1u);
  EXPECT_THAT(world_->suite().Casualties(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace basalt::e2e
