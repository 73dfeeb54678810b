// Runs the files of examples/ that have jobs, as people use them. All files are submitted with basaltctl to five
// processes, the commands in their comments are typed word by word, and the status of each job is checked against the
// promise of its file. tests/examples checks the promises that only the whole log can show.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "tests/e2e/harness.h"
#include "tests/examples/judge.h"
#include "tests/examples/promise.h"

namespace basalt::e2e {
namespace {

using examples::Promise;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::Duration kLongest = absl::Minutes(3);
constexpr absl::Duration kCountsLimit = absl::Seconds(20);  // Counts are written after the phase.

struct Example {
  std::string file;
  Promise promise;
  size_t typed = 0;
  json::value job;  // The job as last read.
  bool ended = false;
};

class ExamplesTest : public WorldTest {
 protected:
  static std::vector<std::string> Files() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(BASALT_SOURCE_DIR "/examples")) {
      const bool is_of_jobs = entry.path().parent_path().filename() != "groups";
      if (entry.is_regular_file() && is_of_jobs) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  void Submit(const std::string& file) {
    const absl::StatusOr<Promise> promise = examples::ParsePromise(ReadFile(file));
    ASSERT_TRUE(promise.ok()) << file << ": " << promise.status();
    const Ran ran = world_.Ctl({"job", "submit", "-f", file});
    if (promise->ends == examples::kRefused) {
      EXPECT_EQ(ran.exit_code, 2) << file << ran.out << ran.err;
      for (const std::string& words : promise->says) EXPECT_THAT(ran.err, HasSubstr(words)) << file;
      return;
    }
    ASSERT_EQ(ran.exit_code, 0) << file << ran.err;
    // basaltctl prints "job default/NAME submitted".
    const size_t slash = ran.out.find('/');
    examples_[ran.out.substr(slash + 1, ran.out.find(' ', slash) - slash - 1)] = {.file = file, .promise = *promise};
  }

  void Type(const examples::Step& step) {
    std::vector<std::string> words = step.words;
    ASSERT_FALSE(words.empty());
    Ran ran;
    if (words[0] == "basaltctl") {
      ran = world_.Ctl({words.begin() + 1, words.end()});
    } else {
      words.insert(words.begin(), "/usr/bin/env");
      words.insert(words.end(), {"--kubeconfig", world_.suite().kubeconfig()});
      ran = world_.Run(words, absl::Seconds(60));
    }
    EXPECT_EQ(ran.exit_code, 0) << fmt::format("{}", fmt::join(words, " ")) << "\n" << ran.out << ran.err;
  }

  // Reads all jobs and types each command that is due. Returns true once all jobs have ended.
  bool Follow() {
    const json::value list = world_.KubeGet("/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs");
    std::map<std::string, const json::value*> there;
    if (list.is_object()) {
      for (const json::value& job : Find(list, "items")->get_array()) {
        there[std::string(FindString(*Find(job, "metadata"), "name"))] = &job;
      }
    }
    bool all = list.is_object();
    for (auto& [name, example] : examples_) {
      if (example.ended || !list.is_object()) continue;
      const auto found = there.find(name);
      if (found != there.end()) example.job = *found->second;
      const std::string phase = found == there.end() ? std::string(examples::kDeleted) : PhaseOf(example.job);
      if (example.typed < example.promise.steps.size()) {
        const examples::Step& step = example.promise.steps[example.typed];
        if (phase == step.phase) {
          Type(step);
          ++example.typed;
        }
      } else {
        example.ended = phase == example.promise.ends;
      }
      all = all && example.ended;
    }
    return all;
  }

  static std::string PhaseOf(const json::value& job) {
    const json::value* const state = FindPath(job, {"status", "state"});
    return state == nullptr ? std::string() : std::string(FindString(*state, "phase"));
  }

  std::map<std::string, Example> examples_;
};

TEST_F(ExamplesTest, AllDoWhatTheyPromise) {
  for (const std::string& file : Files()) {
    Submit(file);
    Follow();
  }
  EXPECT_TRUE(Eventually(kLongest, [&] { return Follow(); }));
  for (auto& named : examples_) {
    const std::string& name = named.first;
    Example& example = named.second;
    SCOPED_TRACE(example.file);
    EXPECT_EQ(example.typed, example.promise.steps.size()) << "not everything was typed";
    EXPECT_TRUE(example.ended) << "it is " << PhaseOf(example.job);
    if (example.promise.ends == examples::kDeleted) continue;
    const auto complaints = [&] {
      example.job = world_.KubeGet("/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/" + name);
      return examples::JudgeStatus(example.promise, example.job);
    };
    Eventually(kCountsLimit, [&] { return complaints().empty(); });
    EXPECT_THAT(complaints(), IsEmpty());
    EXPECT_EQ(PhaseOf(example.job), example.promise.ends) << "it does not stay so";
  }
}

}  // namespace
}  // namespace basalt::e2e
