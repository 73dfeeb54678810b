// Volcano's own vcctl, unchanged, acts on jobs and queues as its users expect. tests/e2e/vcctl/build.sh builds the
// program; the tests are skipped if it is missing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/e2e/harness.h"

namespace basalt::e2e {
namespace {

using ::testing::HasSubstr;

constexpr char kQueues[] = "/apis/scheduling.volcano.sh/v1beta1/queues";
constexpr char kCommands[] = "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands";

class VcctlTest : public WorldTest {
 protected:
  void SetUp() override {
    const char* const script = BASALT_SOURCE_DIR "/tests/e2e/vcctl/build.sh";
    program_ = world_.Run({script, "path"}, absl::Minutes(1)).out;
    if (!program_.empty()) program_.pop_back();  // This removes the line break.
    if (access(program_.c_str(), X_OK) != 0) GTEST_SKIP() << "NOT TESTED: there is no " << program_;
    WorldTest::SetUp();
  }

  // Runs vcctl, which must succeed. Returns its output.
  std::string Does(std::vector<std::string> words) {
    words.insert(words.begin(), program_);
    words.push_back("--kubeconfig=" + (OnReal() ? RealCluster()->kubeconfig() : world_.suite().kubeconfig()));
    const Ran ran = world_.Run(words, absl::Minutes(1));
    EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
    return ran.out;
  }
  std::string Member(const std::string& path, std::initializer_list<std::string_view> members, std::string_view last) {
    const json::value object = world_.KubeGet(path);
    const json::value* const found = object.is_null() ? nullptr : FindPath(object, members);
    const json::value* const value = found == nullptr ? nullptr : Find(*found, last);
    if (value == nullptr) return "";
    return value->is_string() ? std::string(FindString(*found, last)) : ToText(*value);
  }
  void QueueBecomes(const std::string& name, std::string_view state) {
    const std::string path = fmt::format("{}/{}", kQueues, name);
    EXPECT_TRUE(Eventually(absl::Seconds(60), [&] { return Member(path, {"status"}, "state") == state; }))
        << name << " is " << Member(path, {"status"}, "state");
  }
  void JobBecomes(const std::string& name, std::string_view phase) {
    EXPECT_TRUE(Eventually(absl::Seconds(60), [&] { return world_.JobPhase(name) == phase; }))
        << name << " is " << world_.JobPhase(name);
  }
  void ExpectNoCommands() {
    EXPECT_TRUE(Eventually(absl::Seconds(30), [&] {
      const json::value list = world_.KubeGet(kCommands);
      return !list.is_null() && Find(list, "items")->as_array().empty();
    }));
  }

 private:
  std::string program_;
};

TEST_F(VcctlTest, AQueueIsMadeShownClosedOpenedChangedAndDeleted) {
  Does({"queue", "create", "--name=lab", "--weight=3"});
  QueueBecomes("lab", "Open");
  EXPECT_EQ(Member(fmt::format("{}/lab", kQueues), {"spec"}, "weight"), "3");
  EXPECT_THAT(Does({"queue", "list"}), ::testing::ContainsRegex("lab +3 +Open +root +0 +0 +0 +0 +0"));
  EXPECT_THAT(Does({"queue", "get", "--name=lab"}), ::testing::ContainsRegex("lab +3 +Open"));
  Does({"queue", "operate", "--name=lab", "--action=close"});
  QueueBecomes("lab", "Closed");
  Does({"queue", "operate", "--name=lab", "--action=open"});
  QueueBecomes("lab", "Open");
  Does({"queue", "operate", "--name=lab", "--action=update", "--weight=7"});
  EXPECT_EQ(Member(fmt::format("{}/lab", kQueues), {"spec"}, "weight"), "7");
  ExpectNoCommands();
  Does({"queue", "operate", "--name=lab", "--action=close"});
  QueueBecomes("lab", "Closed");
  Does({"queue", "delete", "--name=lab"});
  EXPECT_TRUE(Eventually(absl::Seconds(30), [&] { return world_.KubeGet(fmt::format("{}/lab", kQueues)).is_null(); }));
}

TEST_F(VcctlTest, AJobIsRunShownSuspendedResumedAndDeleted) {
  const std::string file = world_.dir() / "job.yaml";
  WriteFile(file, JobManifest("by-vcctl", 2, "300s", "minAvailable: 2"));
  Does({"job", "run", "--filename=" + file});
  JobBecomes("by-vcctl", "Running");
  EXPECT_THAT(Does({"job", "list"}), ::testing::ContainsRegex("by-vcctl +[-0-9]+ +Running +Batch +2 +2 +0 +2"));
  EXPECT_THAT(Does({"job", "view", "--name=by-vcctl"}), HasSubstr("Phase:"));
  Does({"job", "suspend", "--name=by-vcctl"});
  JobBecomes("by-vcctl", "Aborted");
  Does({"job", "resume", "--name=by-vcctl"});
  JobBecomes("by-vcctl", "Running");
  ExpectNoCommands();
  Does({"job", "delete", "--name=by-vcctl"});
  EXPECT_TRUE(Eventually(absl::Seconds(60), [&] { return world_.JobPhase("by-vcctl").empty(); }));
}

}  // namespace
}  // namespace basalt::e2e
