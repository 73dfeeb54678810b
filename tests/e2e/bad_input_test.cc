// What goes wrong before a job exists, and hostile values in it.
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

std::string With(std::string_view from, std::string_view to) {
  std::string text = kGood;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

struct BadInput {
  const char* name;
  std::string text;
  std::vector<std::string> words;  // All must stand in the message.
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
       std::string(kGood) + "---\n" +
           With("{name: good}", "{name: other}")
               .replace(With("{name: good}", "{name: other}").find("replicas: 1"), 11, "replicas: x"),
       {"document 2", "replicas"}},
  };
  for (const BadInput& bad : cases) {
    std::string file = bad.name;
    for (char& c : file) c = c == ' ' ? '-' : static_cast<char>(std::tolower(c));
    file = world_->dir() / (file + ".yaml");
    WriteFile(file, bad.text);
    const Ran ran = world_->Ctl({"job", "submit", "-f", file});
    EXPECT_EQ(ran.exit_code, 2) << bad.name << ": " << ran.out << ran.err;
    for (const std::string& word : bad.words) EXPECT_THAT(ran.err, ::testing::HasSubstr(word)) << bad.name;
    EXPECT_EQ(world_->JobCount(), 0u) << bad.name;
  }
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
  EXPECT_EQ(world_->Ctl({"job", "explode"}).exit_code, 2);
}

TEST_F(BadInputTest, HostileValuesHarmThatJobAlone) {
  std::string deep = "1";
  for (int i = 0; i < 3000; ++i) deep = "[" + deep + "]";
  const std::string long_name(64, 'n');
  const std::vector<BadInput> cases = {
      {"name", With("{name: good}", "{name: " + long_name + "}"), {"metadata.name"}},
      {"task name", With("- name: t\n", "- name: " + long_name + "\n"), {"tasks[0].name"}},
      {"negative", With("replicas: 1", "replicas: -1"), {"replicas"}},
      {"label", With("{name: good}", "{name: hostile, labels: {a: \"x\\ny\"}}"), {"label"}},
      {"annotation",
       With("{name: good}", "{name: hostile, annotations: {a: " + std::string(300'000, 'x') + "}}"),
       {"annotations"}},
      {"deep", With("{name: good}", "{name: hostile, annotations: {a: " + deep + "}}"), {}},
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

  // The schema allows this one: it is stored, and told to be too much.
  const std::string billion = world_->dir() / "billion.yaml";
  std::string text = With("replicas: 1", "replicas: 1000000000");
  WriteFile(billion, text.replace(text.find("name: good"), 10, "name: billion"));
  EXPECT_EQ(world_->Ctl({"job", "submit", "-f", billion}).exit_code, 0);
  EXPECT_TRUE(Eventually(absl::Seconds(20), [&] {
    const Ran get = world_->Ctl({"job", "get", "billion"});
    return get.out.find("1000000000 pods in one job") != std::string::npos;
  })) << world_->Ctl({"job", "get", "billion"}).out;

  const std::string file = world_->dir() / "good.yaml";
  WriteFile(file, kGood);
  const Ran ran = world_->Ctl({"job", "submit", "-f", file, "--watch"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_EQ(world_->JobPhase("good"), "Completed");
  EXPECT_EQ(world_->Ctl({"job", "delete", "billion"}).exit_code, 0);
  EXPECT_TRUE(Eventually(absl::Seconds(20), [&] { return world_->JobCount() == 1; }));
  EXPECT_THAT(world_->suite().Casualties(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace basalt::e2e
