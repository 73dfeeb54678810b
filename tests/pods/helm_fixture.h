#pragma once

// The tests of the suite as a release of Helm share this fixture. Each test begins in a cluster without a release.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/strip.h"
#include "tests/pods/installed.h"

namespace basalt::pods {

inline constexpr absl::Duration kLimit = absl::Seconds(90);

class HelmTest : public ::testing::Test {
 protected:
  void SetUp() override {
    suite_ = Installed::GetCluster();
    ASSERT_NE(suite_, nullptr);
    suite_->ActBy();
    chart_ = suite_->dir() / "chart";
    if (helm_.empty()) Prepare();
    if (Helm({"status", "basalt", "-n", kNamespace}).exit_code == 0) Uninstall();
  }

  // Removes the objects that the tests' cluster has from the beginning, and creates the namespace as deploy/README.md
  // describes.
  void Prepare() {
    helm_ = LineOf({BASALT_SOURCE_DIR "/scripts/deploy", "tools"}) + "/helm";
    Rendered({"chart", chart_});
    const std::string file = suite_->dir() / "install.yaml";
    e2e::WriteFile(file, InstallManifest({"owner-references"}));
    suite_->Kubectl({"delete", "-f", file, "--ignore-not-found", "--timeout=60s"}, absl::Seconds(90));
    suite_->Kubectl({"create", "namespace", kNamespace});
    suite_->Kubectl({"label", "namespace", kNamespace, "pod-security.kubernetes.io/enforce=restricted"});
    suite_->AdmitTheMachine();
  }

  e2e::Ran Run(const std::vector<std::string>& command, absl::Duration limit = absl::Minutes(10)) {
    return e2e::RunToEnd(command, suite_->dir().path(), limit);
  }
  // Runs the program and returns the last line of its output.
  std::string LineOf(const std::vector<std::string>& command) {
    const e2e::Ran ran = Run(command);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const absl::string_view text = absl::StripSuffix(ran.out, "\n");
    return std::string(text.substr(text.rfind('\n') + 1));
  }
  e2e::Ran Helm(std::vector<std::string> words) {
    words.insert(words.begin(), helm_);
    words.insert(words.end(), {"--kubeconfig", suite_->cluster().kubeconfig()});
    return Run(words, absl::Minutes(3));
  }
  // Installs the chart. The tests' cluster requires the same right of owner references as OpenShift.
  e2e::Ran InstallRelease(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {
        "install", "basalt", chart_, "-n", kNamespace, "--set", "ownerReferences.enabled=true"};
    words.insert(words.end(), more.begin(), more.end());
    return Helm(std::move(words));
  }
  void Uninstall() {
    const e2e::Ran removed = Helm({"uninstall", "basalt", "-n", kNamespace, "--wait"});
    EXPECT_EQ(removed.exit_code, 0) << removed.err;
  }
  ::testing::AssertionResult Reaches(const std::string& job, const std::string& phase) {
    if (e2e::Eventually(kLimit, [&] { return suite_->JobPhase(job) == phase; })) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << job << " is '" << suite_->JobPhase(job) << "'\n"
                                         << suite_->Ctl({"job", "explain", job}).out;
  }
  // Runs a short job of real containers to its end.
  ::testing::AssertionResult AJobCompletes(const std::string& name) {
    suite_->Apply(JobManifest(name, "minAvailable: 2", {RealTask("t", 2, "exit 0")}));
    return Reaches(name, "Completed");
  }

  Installed* suite_ = nullptr;
  std::string chart_;
  static inline std::string helm_;
};

}  // namespace basalt::pods
