// The previous release runs beside this one in each role. A suite is upgraded process by process while jobs run and
// processes are killed, and is then downgraded in the same way.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "common/base/random.h"
#include "common/testing/status_matchers.h"
#include "tests/e2e/harness.h"

namespace basalt::e2e {
namespace {

using ::testing::IsEmpty;

class UpgradeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const before = std::getenv("BASALT_RELEASE_BEFORE");
    ASSERT_NE(before, nullptr) << "BASALT_RELEASE_BEFORE is the folder of the programs of the release before";
    before_ = before;
    ASSERT_TRUE(std::filesystem::exists(before_ + "/gateway")) << before_;
    WorldOptions options;
    options.replicas = 2;
    options.gateways = 2;
    options.gateway_flags = {"--lease_duration=3s"};
    options.suite_bin_dir = before_;
    world_ = std::make_unique<World>(options);
    ASSERT_TRUE(world_->ok());
  }

  // Replaces the process as Kubernetes does: sends SIGTERM, and starts another process in its place.
  void Replace(const std::string& name, const std::string& bin_dir) {
    ASSERT_THAT(world_->suite().Leave(name), testing::IsOk());
    std::optional<absl::Status> ended;
    ASSERT_TRUE(Eventually(absl::Seconds(30), [&] { return (ended = world_->suite().Ended(name)).has_value(); }))
        << name;
    EXPECT_THAT(*ended, testing::IsOk());
    world_->suite().SetBinDir(name, bin_dir);
    ASSERT_THAT(world_->suite().Restart(name), testing::IsOk());
  }
  void Submit() {
    const std::string name = fmt::format("job-{}", jobs_++);
    const std::string file = world_->dir() / (name + ".yaml");
    WriteFile(file, JobManifest(name, 3, "4s", "minAvailable: 2\n  plugins: {svc: [], ssh: []}"));
    Ran submitted;
    EXPECT_TRUE(Eventually(absl::Seconds(60), [&] {
      submitted = world_->Ctl({"job", "submit", "-f", file});
      return submitted.exit_code == 0;
    })) << submitted.err;
  }
  void KillOneOf(const std::vector<std::string>& names) {
    const std::string& name = names[random_.Uniform(names.size())];
    ASSERT_THAT(world_->suite().Kill(name), testing::IsOk());
    ASSERT_THAT(world_->suite().Restart(name), testing::IsOk());
  }
  // Replaces one process after the other. Submits jobs before each replacement, and kills one process after it.
  void ReplaceAll(const std::string& bin_dir) {
    const std::vector<std::string> names = {"gateway-0", "jobsvc-0",   "pgsvc-0", "queuesvc-0",
                                            "gateway-1", "queuesvc-1", "pgsvc-1", "jobsvc-1"};
    for (const std::string& name : names) {
      for (int i = 0; i < 7; ++i) Submit();
      ASSERT_NO_FATAL_FAILURE(Replace(name, bin_dir));
      ASSERT_NO_FATAL_FAILURE(KillOneOf(names));
      EXPECT_THAT(world_->suite().WaitAttached(absl::Seconds(60)), testing::IsOk()) << "beside " << name;
    }
  }

  // Expects that every process of the suite runs a program of `bin_dir`.
  void ExpectPrograms(const std::string& bin_dir) {
    for (const std::string& name : world_->suite().names()) {
      if (name == "kubesim") continue;
      const auto program =
          std::filesystem::read_symlink(fmt::format("/proc/{}/exe", world_->suite().pid(name))).string();
      EXPECT_THAT(program, ::testing::StartsWith(std::filesystem::canonical(bin_dir).string() + "/")) << name;
    }
  }

  std::string before_;
  std::unique_ptr<World> world_;
  SeededRandom random_{1};
  int jobs_ = 0;
};

TEST_F(UpgradeTest, NothingIsLostAndNothingIsMadeTwiceForwardAndBack) {
  ASSERT_NO_FATAL_FAILURE(ReplaceAll(BinDir()));
  ExpectPrograms(BinDir());
  ASSERT_NO_FATAL_FAILURE(ReplaceAll(before_));
  ExpectPrograms(before_);
  for (int i = 0; i < jobs_; ++i) {
    const std::string name = fmt::format("job-{}", i);
    EXPECT_TRUE(Eventually(absl::Seconds(120), [&] { return world_->JobPhase(name) == "Completed"; })) << name;
    EXPECT_THAT(JudgeJob(*world_, name), IsEmpty()) << name;
  }
  EXPECT_THAT(world_->suite().Casualties(), IsEmpty());
}

}  // namespace
}  // namespace basalt::e2e
