// If a store is corrupt, the process names the store and refuses it. With --rebuild, the process moves the store aside
// and serves. rocks_kv_test has the other stores that a process refuses.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "common/testing/status_matchers.h"
#include "tests/e2e/harness.h"

namespace basalt::e2e {
namespace {

namespace fs = std::filesystem;

class StoreTest : public WorldTest {
 protected:
  std::vector<std::string> Jobsvc(const std::string& data_dir, const std::string& port_file, bool rebuild) {
    std::vector<std::string> command = {BinDir() + "/jobsvc", "--gateway=" + world_.suite().gateway(),
                                        "--data_dir=" + data_dir, "--replica=jobsvc-0", "--port_file=" + port_file};
    if (rebuild) command.emplace_back("--rebuild");
    for (std::string& flag : world_.suite().tls_flags("jobsvc", "jobsvc-0")) command.push_back(std::move(flag));
    return command;
  }
};

TEST_F(StoreTest, ACorruptStoreIsRefusedAndRebuilt) {
  ASSERT_THAT(world_.suite().Kill("jobsvc"), testing::IsOk());
  const std::string data = world_.suite().data_dir("jobsvc");
  int damaged = 0;
  for (const auto& entry : fs::directory_iterator(data + "/store")) {
    const std::string name = entry.path().filename();
    if (name == "CURRENT" || name.starts_with("MANIFEST")) {
      WriteFile(entry.path(), "no such thing as a manifest");
      ++damaged;
    }
  }
  ASSERT_GE(damaged, 2);
  const Ran refused = world_.Run(Jobsvc(data, world_.dir() / "refused.port", false), absl::Seconds(30));
  EXPECT_EQ(refused.exit_code, 1) << refused.err;
  EXPECT_THAT(refused.err, ::testing::HasSubstr(data));
  EXPECT_THAT(refused.err, ::testing::HasSubstr("--rebuild"));
  EXPECT_FALSE(fs::exists(world_.dir() / "refused.port"));
  const std::string port_file = world_.dir() / "rebuilt.port";
  Child rebuilt(Jobsvc(data, port_file, true), world_.dir() / "rebuilt.out", world_.dir() / "rebuilt.err");
  EXPECT_TRUE(Eventually(absl::Seconds(30), [&] { return fs::exists(port_file); }))
      << ReadFile(world_.dir() / "rebuilt.err");
  EXPECT_TRUE(fs::exists(data + "/store.aside-1")) << "the old store is kept beside the new one";
  const Ran submitted =
      world_.Ctl({"job", "submit", "-f", BASALT_SOURCE_DIR "/examples/first-job.yaml", "--watch"}, absl::Seconds(60));
  EXPECT_EQ(submitted.exit_code, 0) << submitted.out << submitted.err;
  rebuilt.Signal(SIGTERM);
  EXPECT_EQ(rebuilt.Wait(absl::Seconds(20)), 0);
}

// The store is on a mount point of its own, with the folder that a freshly formatted ext4 volume has.
TEST_F(StoreTest, AFreshVolumeIsServedAndItsStoreRebuilt) {
  if (world_.Run({"/bin/sh", "-c", "unshare -rm true"}, absl::Seconds(10)).exit_code != 0) {
    GTEST_SKIP() << "a mount namespace of its own is not permitted here";
  }
  ASSERT_THAT(world_.suite().Kill("jobsvc"), testing::IsOk());
  const std::string volume = world_.dir() / "volume";
  fs::create_directories(volume);
  for (const bool rebuild : {false, true}) {
    SCOPED_TRACE(rebuild);
    const std::string port_file = world_.dir() / fmt::format("volume-{}.port", rebuild);
    std::string script = fmt::format("mount -t tmpfs none {0} && mkdir -m 700 {0}/lost+found", volume);
    if (rebuild) script += fmt::format(" && mkdir {0}/store && echo garbage > {0}/store/CURRENT", volume);
    script += " && exec";
    for (const std::string& word : Jobsvc(volume, port_file, rebuild)) script += fmt::format(" '{}'", word);
    WriteFile(world_.dir() / "volume.sh", script);
    Child served({"/bin/sh", "-c", fmt::format("exec unshare -rm sh {}/volume.sh", world_.dir().path())},
                 world_.dir() / "volume.out", world_.dir() / "volume.err");
    EXPECT_TRUE(Eventually(absl::Seconds(30), [&] { return fs::exists(port_file); }))
        << ReadFile(world_.dir() / "volume.err");
    served.Signal(SIGTERM);
    EXPECT_EQ(served.Wait(absl::Seconds(20)), 0);
  }
}

}  // namespace
}  // namespace basalt::e2e
