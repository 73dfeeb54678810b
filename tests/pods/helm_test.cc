// The suite is a release of Helm: it is installed, changed, removed, and installed again on the same volumes.
#include <string>

#include "tests/pods/helm_fixture.h"

namespace basalt::pods {
namespace {

using e2e::Eventually;
using e2e::JudgeJob;
using e2e::Ran;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(HelmTest, AReleaseIsInstalledChangedRemovedAndInstalledAgainUnderJobs) {
  suite_->Apply(suite_->Certificates());
  const Ran installed = InstallRelease({"--wait", "--timeout", "60s"});
  ASSERT_EQ(installed.exit_code, 0) << installed.out << installed.err;
  EXPECT_THAT(suite_->Ctl({"topology"}).out, HasSubstr("basalt-jobsvc-2"));
  const Ran second = Helm({"install", "second", chart_, "-n", "other", "--create-namespace"});
  EXPECT_NE(second.exit_code, 0);
  EXPECT_THAT(second.err, HasSubstr("exists and cannot be imported into the current release"));
  const Ran preflight =
      Run({e2e::BinDir() + "/basaltctl", "preflight", "--kubeconfig", suite_->cluster().kubeconfig()});
  EXPECT_EQ(preflight.exit_code, 0) << preflight.out << preflight.err;

  suite_->Apply(JobManifest("patient", "minAvailable: 2", {RealTask("t", 2, "sleep 15")}));
  ASSERT_TRUE(Reaches("patient", "Running"));
  const Ran changed = Helm({"upgrade", "basalt", chart_, "-n", kNamespace, "--reuse-values", "--set",
                            "jobsvc.replicas=2,admission.enabled=true", "--wait", "--timeout", "60s"});
  EXPECT_EQ(changed.exit_code, 0) << changed.err;
  EXPECT_TRUE(Eventually(kLimit, [&] {
    return suite_->Ctl({"topology"}).out.find("basalt-jobsvc-2") == std::string::npos;
  })) << suite_->Ctl({"topology"}).out;
  EXPECT_TRUE(Reaches("patient", "Completed"));
  EXPECT_THAT(JudgeJob(*suite_, "patient"), IsEmpty());

  suite_->Apply(JobManifest("survivor", "minAvailable: 2", {RealTask("t", 2, "sleep 15")}));
  ASSERT_TRUE(Reaches("survivor", "Running"));
  Uninstall();
  EXPECT_EQ(suite_->JobPhase("survivor"), "Running");
  const Ran again = InstallRelease({"--wait", "--timeout", "60s"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(Reaches("survivor", "Completed"));
  EXPECT_THAT(JudgeJob(*suite_, "survivor"), IsEmpty());
}

}  // namespace
}  // namespace basalt::pods
