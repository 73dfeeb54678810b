// If a store is corrupt or belongs to another service, the process names the store and refuses it. With --rebuild, the
// process moves the store aside and serves.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "common/base/slots.h"
#include "common/kv/kv_store.h"
#include "common/testing/status_matchers.h"
#include "services/jobsvc/store/job_store.h"
#include "tests/e2e/harness.h"

namespace basalt::e2e {
namespace {

namespace fs = std::filesystem;

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(world_.ok()); }

  std::vector<std::string> Jobsvc(const std::string& data_dir, const std::string& port_file, bool rebuild) {
    std::vector<std::string> command = {BinDir() + "/jobsvc", "--gateway=" + world_.suite().gateway(),
                                        "--data_dir=" + data_dir, "--replica=jobsvc-0", "--port_file=" + port_file};
    if (rebuild) command.emplace_back("--rebuild");
    for (std::string& flag : world_.suite().tls_flags("jobsvc", "jobsvc-0")) command.push_back(std::move(flag));
    return command;
  }

  // Expects that the store is refused without --rebuild. Expects that the process with --rebuild moves the store aside
  // in the same folder and serves.
  void ExpectRefusalAndRebuild(const std::string& data_dir) {
    const Ran refused = world_.Run(Jobsvc(data_dir, world_.dir() / "refused.port", false), absl::Seconds(30));
    EXPECT_EQ(refused.exit_code, 1) << refused.err;
    EXPECT_THAT(refused.err, ::testing::HasSubstr(data_dir));
    EXPECT_THAT(refused.err, ::testing::HasSubstr("--rebuild"));
    EXPECT_FALSE(fs::exists(world_.dir() / "refused.port"));

    const std::string port_file = world_.dir() / "rebuilt.port";
    Child rebuilt(Jobsvc(data_dir, port_file, true), world_.dir() / "rebuilt.out", world_.dir() / "rebuilt.err");
    EXPECT_TRUE(Eventually(absl::Seconds(30), [&] { return fs::exists(port_file); }))
        << ReadFile(world_.dir() / "rebuilt.err");
    EXPECT_TRUE(fs::exists(data_dir + "/store.aside-1")) << "the old store is kept beside the new one";
    // The job is named after the case: on a real cluster the job of the previous case still exists.
    std::string job = ReadFile(BASALT_SOURCE_DIR "/examples/first-job.yaml");
    job.replace(job.find("name: first-job"), 15, fmt::format("name: job-{}", fs::path(data_dir).filename().string()));
    WriteFile(world_.dir() / "job.yaml", job);
    const Ran submitted = world_.Ctl({"job", "submit", "-f", world_.dir() / "job.yaml", "--watch"}, absl::Seconds(60));
    EXPECT_EQ(submitted.exit_code, 0) << submitted.out << submitted.err;
    rebuilt.Signal(SIGTERM);
    EXPECT_EQ(rebuilt.Wait(absl::Seconds(20)), 0);
  }

  World world_;
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
  ExpectRefusalAndRebuild(data);
}

TEST_F(StoreTest, TheStoreOfAnotherServiceIsRefusedAndMovedAside) {
  ASSERT_THAT(world_.suite().Kill("jobsvc"), testing::IsOk());
  const std::string foreign = world_.dir() / "foreign-data";
  fs::copy(world_.suite().data_dir("pgsvc"), foreign, fs::copy_options::recursive);
  ExpectRefusalAndRebuild(foreign);
}

TEST_F(StoreTest, AStoreFolderOfOtherFilesIsRefused) {
  const std::string folder = world_.dir() / "photos";
  fs::create_directories(folder + "/store");
  WriteFile(folder + "/store/holiday.txt", "not ours");
  const Ran refused = world_.Run(Jobsvc(folder, world_.dir() / "refused.port", false), absl::Seconds(30));
  EXPECT_EQ(refused.exit_code, 1) << refused.err;
  EXPECT_THAT(refused.err, ::testing::HasSubstr(folder));
  EXPECT_EQ(ReadFile(folder + "/store/holiday.txt"), "not ours");
}

// One record is damaged. Its job continues from its state in Kubernetes, the other job from its record.
TEST_F(StoreTest, ARecordThatCannotBeReadIsDroppedAndTheRestGoesOn) {
  std::string manifest = ReadFile(BASALT_SOURCE_DIR "/examples/first-job.yaml");
  // Both kubelets read the annotation. The fake one of a real cluster does not look at the command.
  const std::string pods_last = "template:\n        metadata: {annotations: {kubesim.basalt.dev/duration: 10m}}";
  for (size_t at = 0; (at = manifest.find("template:", at)) != std::string::npos; at += pods_last.size()) {
    manifest.replace(at, 9, pods_last);
  }
  for (const std::string name : {"damaged", "sound"}) {
    std::string job = manifest;
    job.replace(job.find("name: first-job"), 15, "name: record-" + name);
    WriteFile(world_.dir() / "job.yaml", job);
    const Ran submitted = world_.Ctl({"job", "submit", "-f", world_.dir() / "job.yaml"});
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
    const Ran runs = world_.Ctl({"job", "wait", "record-" + name, "--for", "Running", "--timeout", "60s"});
    ASSERT_EQ(runs.exit_code, 0) << runs.err;
  }
  ASSERT_THAT(world_.suite().Kill("jobsvc"), testing::IsOk());
  {
    const std::string key = "default/record-damaged";
    auto store =
        kv::OpenRocksKv({.data_dir = world_.suite().data_dir("jobsvc"), .service = "jobsvc", .replica = "jobsvc-0"});
    ASSERT_THAT(store, testing::IsOk());
    kv::WriteBatch batch;
    batch.Put(kv::Family::kRecords, jobsvc::JobRecordKey(SlotOf(key), key), "\xff");
    ASSERT_THAT((*store)->Write(batch), testing::IsOk());
  }
  ASSERT_THAT(world_.suite().Restart("jobsvc"), testing::IsOk());
  for (const std::string name : {"record-damaged", "record-sound"}) {
    const Ran suspended = world_.Ctl({"job", "suspend", name, "--wait"});
    EXPECT_EQ(suspended.exit_code, 0) << suspended.out << suspended.err;
    const Ran history = world_.Ctl({"job", "history", name});
    EXPECT_THAT(history.out, ::testing::HasSubstr("Pending")) << "from before";
    EXPECT_EQ(world_.Ctl({"job", "delete", name}).exit_code, 0);
  }
  EXPECT_THAT(ReadFile(world_.suite().log_file("jobsvc")),
              ::testing::AllOf(::testing::HasSubstr("a record that cannot be read was dropped"),
                               ::testing::HasSubstr("default/record-damaged")));
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
