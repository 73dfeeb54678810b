// Runs basalt-dev as scripts/run calls it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>

#include "common/testing/status_matchers.h"
#include "tests/e2e/harness.h"

namespace basalt::e2e {
namespace {

constexpr char kFirstJob[] = BASALT_SOURCE_DIR "/examples/first-job.yaml";

enum class Form { kInProcess, kProcesses, kReal };

class DevTest : public ::testing::TestWithParam<Form> {
 protected:
  void SetUp() override {
    if (GetParam() != Form::kReal) return;
    ASSERT_NE(RealCluster(), nullptr);
    // The jobs of the previous case have the same names.
    ASSERT_THAT(RealCluster()->Kubectl({"delete", "jobs.batch.volcano.sh", "--all", "--cascade=foreground"}).status(),
                testing::IsOk());
  }
  std::vector<std::string> Dev(std::vector<std::string> flags) {
    std::vector<std::string> command = {BinDir() + "/basalt-dev", "--dir=" + (dir_ / "dev")};
    if (GetParam() == Form::kProcesses) command.emplace_back("--processes");
    if (GetParam() == Form::kReal) command.push_back("--real=" + RealCluster()->dir());
    command.insert(command.end(), flags.begin(), flags.end());
    return command;
  }
  Ran Run(std::vector<std::string> flags) {
    Child child(Dev(std::move(flags)), out_, err_);
    Ran ran;
    ran.exit_code = child.Wait(absl::Seconds(60)).value_or(-1);
    ran.out = ReadFile(out_);
    ran.err = ReadFile(err_);
    return ran;
  }
  bool Says(const std::string& words) {
    return Eventually(absl::Seconds(60), [&] { return ReadFile(out_).find(words) != std::string::npos; });
  }

  testing::TempDir dir_;
  const std::string out_ = dir_ / "out";
  const std::string err_ = dir_ / "err";
};

TEST_P(DevTest, CarriesAManifestToItsEndAndShowsPodsAndHistory) {
  const Ran ran = Run({fmt::format("--run={}", kFirstJob)});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  for (const char* words :
       {"first-job submitted", "Completed", "first-job-worker-2   worker   Succeeded", "Running → Completed"}) {
    EXPECT_THAT(ran.out, ::testing::HasSubstr(words));
  }
  EXPECT_EQ(ran.out.find("does not evaluate the validation rules") == std::string::npos, GetParam() == Form::kReal);
  EXPECT_EQ(ran.err, "");
}

TEST_P(DevTest, RunsADeploymentAndShowsTheGroupOfItsPods) {
  const Ran ran = Run({fmt::format("--run={}", BASALT_SOURCE_DIR "/examples/groups/deployment.yaml")});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  for (const char* words : {"Deployment default/web created", "Deployment default/web has all that it wants",
                            "basaltctl podgroup history podgroup-", "Min member  2"}) {
    EXPECT_THAT(ran.out, ::testing::HasSubstr(words));
  }
  if (OnReal()) {
    EXPECT_THAT(RealCluster()->Kubectl({"delete", "deployment", "web", "--cascade=foreground"}).status(),
                testing::IsOk());
  }
}

TEST_P(DevTest, RunsAStatefulSetOfKaisSchedulerAndExplainsTheGroupOfItsPods) {
  if (OnReal()) {
    for (const char* what : {"/kubesim/definitions", "/deploy/rbac/kai"}) {
      ASSERT_THAT(RealCluster()->Kubectl({"apply", "-f", fmt::format("{}{}", BASALT_SOURCE_DIR, what)}).status(),
                  testing::IsOk());
    }
  }
  const Ran ran = Run({fmt::format("--run={}", BASALT_SOURCE_DIR "/examples/groups/kai-statefulset.yaml")});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  for (const char* words :
       {"StatefulSet default/ranks has all that it wants", "Owner:      StatefulSet default/ranks", "In cluster: yes",
        "queue: team-a", "# queue: label kai.scheduler/queue of StatefulSet default/ranks"}) {
    EXPECT_THAT(ran.out, ::testing::HasSubstr(words));
  }
  if (OnReal()) {
    EXPECT_THAT(RealCluster()->Kubectl({"delete", "statefulset", "ranks", "--cascade=foreground"}).status(),
                testing::IsOk());
  }
}

TEST_P(DevTest, AJobThatFailsIsToldByTheExitCode) {
  const std::string file = dir_ / "fails.yaml";
  WriteFile(file,
            "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: fails}\nspec:\n  minAvailable: 1\n"
            "  tasks:\n  - name: t\n    replicas: 1\n    template:\n"
            "      metadata: {annotations: {kubesim.basalt.dev/exit-code: \"7\"}}\n      spec:\n        restartPolicy: "
            "Never\n"
            "        containers: [{name: c, image: i, command: [sh, -c, \"exit 7\"]}]\n");
  const Ran ran = Run({"--run=" + file});
  EXPECT_EQ(ran.exit_code, 3) << ran.out << ran.err;
  EXPECT_THAT(ran.out, ::testing::HasSubstr("Failed"));
  WriteFile(file, "neither a job\n");
  EXPECT_EQ(Run({"--run=" + file}).exit_code, 2);
}

TEST_P(DevTest, StaysUpUntilItIsToldToEnd) {
  Child child(Dev({"--keep", fmt::format("--run={}", kFirstJob)}), out_, err_);
  ASSERT_TRUE(Says("basaltctl --gateway=")) << ReadFile(out_) << ReadFile(err_);
  const std::string text = ReadFile(out_);
  const std::string kubeconfig = OnReal() ? RealCluster()->kubeconfig() : dir_ / "dev/kubeconfig";
  EXPECT_THAT(text, ::testing::HasSubstr("export KUBECONFIG=" + kubeconfig));
  EXPECT_TRUE(std::filesystem::exists(kubeconfig));
  const std::string mark = "export BASALT_GATEWAY=";
  const size_t at = text.find(mark) + mark.size();
  const std::string gateway = text.substr(at, text.find('\n', at) - at);
  Child topology({BinDir() + "/basaltctl", "--gateway", gateway, "topology"}, dir_ / "topology", dir_ / "ignored");
  EXPECT_EQ(topology.Wait(absl::Seconds(20)), 0);
  EXPECT_THAT(ReadFile(dir_ / "topology"), ::testing::HasSubstr("queuesvc-0"));
  child.Signal(SIGTERM);
  EXPECT_EQ(child.Wait(absl::Seconds(20)), 0);
}

TEST_P(DevTest, WithTlsOnEveryPortItSaysHowToReachThem) {
  Child child(Dev({"--tls", "--keep", fmt::format("--run={}", kFirstJob)}), out_, err_);
  ASSERT_TRUE(Says("basaltctl --gateway=")) << ReadFile(out_) << ReadFile(err_);
  const std::string text = ReadFile(out_);
  EXPECT_THAT(text, ::testing::HasSubstr("Running → Completed")) << ReadFile(err_);
  const size_t at = text.find("  export BASALT_GATEWAY=");
  ASSERT_NE(at, std::string::npos);
  std::vector<std::string> command = {"/bin/sh", "-c"};
  command.push_back(text.substr(at, text.find("\n  /", at) - at) + "\n" + BinDir() + "/basaltctl topology");
  Child topology(command, dir_ / "topology", dir_ / "ignored");
  EXPECT_EQ(topology.Wait(absl::Seconds(20)), 0) << ReadFile(dir_ / "ignored");
  EXPECT_THAT(ReadFile(dir_ / "topology"), ::testing::HasSubstr("queuesvc-0"));
  Child stranger(
      {BinDir() + "/basaltctl",
       text.substr(text.find("--gateway="), text.find(' ', text.find("--gateway=")) - text.find("--gateway=")),
       "topology"},
      dir_ / "topology", dir_ / "refused");
  EXPECT_NE(stranger.Wait(absl::Seconds(20)), 0) << "without a certificate";
}

TEST_P(DevTest, SeveralReplicasAndGatewaysShareTheWork) {
  Child child(Dev({"--replicas=2", "--gateways=2", "--keep", fmt::format("--run={}", kFirstJob)}), out_, err_);
  ASSERT_TRUE(Says("basaltctl --gateway=")) << ReadFile(out_) << ReadFile(err_);
  EXPECT_THAT(ReadFile(out_), ::testing::HasSubstr("Running → Completed")) << ReadFile(err_);
  const std::string mark = "export BASALT_GATEWAY=";
  const std::string text = ReadFile(out_);
  const size_t at = text.find(mark) + mark.size();
  const std::string gateways = text.substr(at, text.find('\n', at) - at);
  const size_t comma = gateways.find(',');
  ASSERT_NE(comma, std::string::npos) << gateways;
  const auto ctl = [&](const std::string& gateway, std::vector<std::string> words) {
    words.insert(words.begin(), {BinDir() + "/basaltctl", "--gateway", gateway, "topology"});
    Child topology(words, dir_ / "topology", dir_ / "ignored");
    EXPECT_EQ(topology.Wait(absl::Seconds(20)), 0) << ReadFile(dir_ / "ignored");
    return ReadFile(dir_ / "topology");
  };
  for (const std::string& gateway : {gateways.substr(0, comma), gateways.substr(comma + 1)}) {
    const std::string shown = ctl(gateway, {});
    EXPECT_THAT(shown, ::testing::HasSubstr("), leads, epoch ")) << "a standby leads to the leader";
    for (const char* replica : {"jobsvc-0", "jobsvc-1", "pgsvc-1", "queuesvc-1"}) {
      EXPECT_THAT(shown, ::testing::HasSubstr(replica));
    }
    EXPECT_THAT(ctl(gateway, {"--key", "default/first-job"}),
                ::testing::MatchesRegex("default/first-job is in slot [0-9]+ of jobsvc: jobsvc-[01] has it since epoch "
                                        "[0-9]+, open\n"));
    const std::string slots = ctl(gateway, {"--slots", "pgsvc"});
    EXPECT_THAT(slots, ::testing::HasSubstr("\npgsvc-0 "));
    EXPECT_THAT(slots, ::testing::HasSubstr("\npgsvc-1 "));
  }
  Child live({BinDir() + "/basaltctl", "--gateway", gateways, "topology", "--watch"}, dir_ / "live", dir_ / "ignored");
  const auto lines = [&] {
    const std::string output = ReadFile(dir_ / "live");
    return std::count(output.begin(), output.end(), '\n');
  };
  EXPECT_TRUE(Eventually(absl::Seconds(20), [&] { return lines() >= 2; })) << "no line a second";
  const std::string output = ReadFile(dir_ / "live");
  EXPECT_TRUE(ParseJson(output.substr(0, output.find('\n'))).ok()) << output;
  child.Signal(SIGTERM);
  EXPECT_EQ(child.Wait(absl::Seconds(20)), 0);
}

TEST_P(DevTest, ANumberOfReplicasThatCannotBeIsRefused) {
  const Ran ran = Run({"--replicas=0"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, ::testing::HasSubstr("--replicas: 0 is not between 1 and 50"));
}

TEST_P(DevTest, CanBeInterruptedWhileAJobRuns) {
  const std::string file = dir_ / "long.yaml";
  WriteFile(file, JobManifest("long", 1, "1h", "minAvailable: 1"));
  Child child(Dev({"--run=" + file}), out_, err_);
  ASSERT_TRUE(Says("1 running"));
  child.Signal(SIGINT);
  EXPECT_EQ(child.Wait(absl::Seconds(20)), 130);
}

std::vector<Form> Forms() {
  if (OnReal()) return {Form::kReal};
  return {Form::kInProcess, Form::kProcesses};
}

std::string NameOf(const ::testing::TestParamInfo<Form>& tested) {
  constexpr const char* kNames[] = {"InProcess", "Processes", "Real"};
  return kNames[static_cast<int>(tested.param)];
}

INSTANTIATE_TEST_SUITE_P(Each, DevTest, ::testing::ValuesIn(Forms()), NameOf);

}  // namespace
}  // namespace basalt::e2e
