// Tests that every file of examples/ keeps the promise of its leading comment, on the whole suite under simulated time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include <set>
#include <sstream>

#include "tests/examples/files.h"
#include "tests/examples/promise.h"
#include "tests/examples/stage.h"

namespace basalt::examples {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Returns the examples of jobs. The files in groups/ have pods of plain workloads and belong to docs/pod-groups.md.
std::vector<std::string> JobExamples() {
  std::vector<std::string> files = FilesBelow(BASALT_SOURCE_DIR "/examples");
  std::erase_if(files, [](const std::string& file) { return file.starts_with("groups/"); });
  return files;
}

class ExampleTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ExampleTest, DoesWhatItPromises) {
  const std::string text = ReadFile(BASALT_SOURCE_DIR "/examples/" + GetParam());
  const absl::StatusOr<Promise> promise = ParsePromise(text);
  ASSERT_TRUE(promise.ok()) << promise.status();
  EXPECT_THAT(Stage().Run(text, *promise), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Examples, ExampleTest, ::testing::ValuesIn(JobExamples()), NameOfFile);

// docs/jobs.md names every example as `folder/file.yaml`, and every name there is an example.
TEST(ReferenceTest, NamesEveryExampleAndNoOther) {
  const std::string text = ReadFile(BASALT_SOURCE_DIR "/docs/jobs.md");
  std::set<std::string> named;
  const RE2 example("`([a-z-]+/[a-z-]+\\.yaml|[a-z-]+\\.yaml)`");
  re2::StringPiece rest(text);
  for (std::string file; RE2::FindAndConsume(&rest, example, &file);) named.insert(file);
  EXPECT_THAT(named, ::testing::UnorderedElementsAreArray(JobExamples()));
}

TEST(ReferenceTest, NamesEveryExampleOfPodGroups) {
  const std::string text = ReadFile(BASALT_SOURCE_DIR "/docs/pod-groups.md");
  for (const std::string& file : FilesBelow(BASALT_SOURCE_DIR "/examples/groups")) {
    EXPECT_THAT(text, HasSubstr("examples/groups/" + file));
  }
}

// In a table whose last column is the example, every row has one.
TEST(ReferenceTest, EveryFieldPolicyPluginAndCommandHasAnExample) {
  std::istringstream text(ReadFile(BASALT_SOURCE_DIR "/docs/jobs.md"));
  bool wants = false;
  int rows = 0;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("|")) {
      wants = false;
    } else if (line.ends_with("| example |")) {
      wants = true;
    } else if (wants && !line.ends_with("|---|")) {
      ++rows;
      const size_t cell = line.rfind('|', line.size() - 2);
      EXPECT_THAT(line.substr(cell), HasSubstr("`")) << line;
    }
  }
  EXPECT_GT(rows, 50);
}

constexpr char kGood[] = R"(
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: good}
spec:
  tasks:
    - replicas: 1
      template:
        spec:
          restartPolicy: Never
          containers: [{name: main, image: busybox, command: [sleep, "1"]}]
)";

// If the check found no broken promise here, it would find none in the examples either.
TEST(StageTest, ABrokenPromiseIsNamed) {
  Promise promise{.ends = "Completed"};
  EXPECT_THAT(Stage().Run(kGood, promise), IsEmpty());
  const auto broken = [&](auto change) {
    Promise changed = promise;
    change(changed);
    return Stage().Run(kGood, changed);
  };
  EXPECT_THAT(broken([](Promise& p) { p.ends = "Failed"; }), Contains(HasSubstr("it is Completed, not Failed")));
  EXPECT_THAT(broken([](Promise& p) { p.ends = "Refused"; }), Contains("it is accepted"));
  EXPECT_THAT(broken([](Promise& p) { p.retries = 1; }), Contains("it was restarted 0 times"));
  EXPECT_THAT(broken([](Promise& p) { p.version = 1; }), Contains("its version is 0"));
  EXPECT_THAT(broken([](Promise& p) { p.made = 2; }), Contains("1 pods were made"));
  EXPECT_THAT(broken([](Promise& p) { p.pods = {{"succeeded", 2}}; }), Contains("1 pods are succeeded, not 2"));
  EXPECT_THAT(broken([](Promise& p) { p.phases = {"Pending"}; }),
              Contains("its phases are Pending, Running, Completed"));
  EXPECT_THAT(broken([](Promise& p) { p.makes = {"secrets"}; }), Contains("secrets was not made"));
  EXPECT_THAT(broken([](Promise& p) {
                p.order = {"pods/good-default0-0", "pods/none"};
              }),
              Contains("pods/none was not made after those before it"));
  EXPECT_THAT(broken([](Promise& p) { p.events = {"Odd"}; }), Contains(HasSubstr("no Event Odd")));
  EXPECT_THAT(broken([](Promise& p) { p.says = {"so"}; }), Contains(HasSubstr("does not say 'so'")));
  EXPECT_THAT(broken([](Promise& p) { p.lasts.emplace(absl::Minutes(1), absl::Minutes(2)); }),
              Contains(HasSubstr("it lasts ")));
  EXPECT_THAT(broken([](Promise& p) {
                p.steps = {{"Aborted", {"basaltctl"}}};
              }),
              Contains("it is never Aborted, but Completed"));
  EXPECT_THAT(broken([](Promise& p) {
                p.steps = {{"Running", {"make", "coffee"}}};
              }),
              Contains(HasSubstr("nobody knows how to type 'make coffee'")));
}

}  // namespace
}  // namespace basalt::examples
