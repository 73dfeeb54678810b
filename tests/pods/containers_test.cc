// People's first steps with an installed suite: jobs of real containers, a Deployment, queues, and a person's token.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/time/time.h"
#include "tests/pods/installed.h"

namespace basalt::pods {
namespace {

using e2e::Eventually;
using e2e::JudgeJob;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::Duration kLimit = absl::Seconds(90);

class ContainersTest : public InstalledTest {
 protected:
  void ExpectEnd(const std::string& job, const std::string& phase) {
    EXPECT_TRUE(Eventually(kLimit, [&] { return suite_->JobPhase(job) == phase; }))
        << job << " is " << suite_->JobPhase(job) << "\n"
        << suite_->Ctl({"job", "explain", job}).out;
  }
};

TEST_F(ContainersTest, TheSuiteIsReadyWithinAMinuteAndNoPodMayMoreThanRestricted) {
  fmt::print("from kubectl apply to ready: {}\n", absl::FormatDuration(suite_->install_time()));
  EXPECT_LT(suite_->install_time(), absl::Minutes(1));
  EXPECT_EQ(suite_->Restarts(), "00000000000")
      << "2 gateways and 3 replicas of each service, none of which was started twice";
  EXPECT_THAT(suite_->Kubectl({"get", "namespace", kNamespace, "-o", "yaml"}),
              HasSubstr("pod-security.kubernetes.io/enforce: restricted"));
  EXPECT_THAT(suite_->Ctl({"topology"}).out, HasSubstr("basalt-queuesvc-2"));
}

TEST_F(ContainersTest, ContainersEndAsTheyEndAndPoliciesFollowTheirExitCodes) {
  suite_->Apply(JobManifest("good", "minAvailable: 3", {RealTask("a", 2, "sleep 1"), RealTask("b", 1, "exit 0")}) +
                JobManifest("bad", "minAvailable: 1", {RealTask("a", 1, "exit 3")}) +
                JobManifest("again", "minAvailable: 2\nmaxRetry: 2\npolicies: [{exitCode: 42, action: RestartJob}]",
                            {RealTask("a", 1, "sleep 60"), RealTask("b", 1, "exit 42")}) +
                JobManifest("aborted", "minAvailable: 2\npolicies: [{event: PodFailed, action: AbortJob}]",
                            {RealTask("a", 1, "sleep 60"), RealTask("b", 1, "sleep 60 & wait $!")}));
  ExpectEnd("good", "Completed");
  EXPECT_THAT(JudgeJob(*suite_, "good"), IsEmpty());
  ExpectEnd("bad", "Failed");
  ExpectEnd("again", "Failed");
  EXPECT_THAT(suite_->Ctl({"job", "history", "again"}).out, HasSubstr("Restarting"));
  // The test kills the container, as the kernel does if memory is short.
  ASSERT_TRUE(Eventually(kLimit, [&] { return suite_->JobPhase("aborted") == "Running"; }));
  suite_->Kubectl({"exec", "aborted-b-0", "--", "sh", "-c", "kill -9 $(pidof sleep)"});
  ExpectEnd("aborted", "Aborted");
}

TEST_F(ContainersTest, TheNamesOfAJobAreFoundInItsContainers) {
  suite_->Kubectl({"apply", "-n", "default", "-f", BASALT_SOURCE_DIR "/deploy/rbac/plugins/svc.yaml"});
  suite_->Apply(JobManifest(
      "names", "minAvailable: 3\nplugins: {svc: [], env: []}\npolicies: [{event: PodFailed, action: AbortJob}]",
      {RealTask("server", 1, "nc -l -p 2222 -e echo hello"),
       RealTask("client", 2,
                "test $VC_TASK_INDEX = 1 && exit 0; host=$(head -n 1 /etc/volcano/server.host); "
                "for i in $(seq 60); do nc $host 2222 | grep hello && exit 0; sleep 0.5; done; exit 1")}));
  ExpectEnd("names", "Completed");
}

TEST_F(ContainersTest, ADeploymentGetsItsGroupAndAQueueClosesAndOpens) {
  suite_->Apply(
      "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: default}\nspec:\n  replicas: 2\n"
      "  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n"
      "      schedulerName: volcano\n      nodeSelector: {basalt.dev/node: real}\n      terminationGracePeriodSeconds: "
      "1\n"
      "      containers: [{name: c, image: 'basalt.test/busybox:1', imagePullPolicy: Never, command: [sleep, "
      "'600']}]\n");
  suite_->Kubectl({"wait", "deployment/web", "--for=condition=Available", "--timeout=60s"}, absl::Seconds(70));
  const std::string group =
      suite_->Kubectl({"get", "pods", "-l", "app=web", "-o",
                       "jsonpath={.items[0].metadata.annotations.scheduling\\.k8s\\.io/group-name}"});
  EXPECT_NE(group, "");
  const auto phase = [&] { return suite_->Kubectl({"get", "podgroup", group, "-o", "jsonpath={.status.phase}"}); };
  EXPECT_TRUE(Eventually(kLimit, [&] { return phase() == "Running"; })) << phase();
  suite_->Kubectl({"delete", "deployment", "web"});
  EXPECT_EQ(suite_->Ctl({"queue", "create", "nightly", "--weight", "2"}).exit_code, 0);
  EXPECT_EQ(suite_->Ctl({"queue", "close", "nightly"}).exit_code, 0);
  const auto state = [&] { return suite_->Kubectl({"get", "queue", "nightly", "-o", "jsonpath={.status.state}"}); };
  EXPECT_TRUE(Eventually(kLimit, [&] { return state() == "Closed"; })) << state();
  EXPECT_EQ(suite_->Ctl({"queue", "open", "nightly"}).exit_code, 0);
  EXPECT_TRUE(Eventually(kLimit, [&] { return state() == "Open"; })) << state();
}

TEST_F(ContainersTest, APersonCallsFromOutsideWithTheTokenOfTheCluster) {
  suite_->Kubectl({"create", "serviceaccount", "ann"});
  suite_->Kubectl({"create", "role", "jobs", "--verb=get,list", "--resource=jobs.batch.volcano.sh"});
  suite_->Kubectl({"create", "rolebinding", "ann", "--role=jobs", "--serviceaccount=default:ann"});
  std::string token = suite_->Kubectl({"create", "token", "ann"});
  const std::string kubeconfig = suite_->dir() / "ann.yaml";
  e2e::WriteFile(
      kubeconfig,
      fmt::format("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                  "contexts: [{{name: c, context: {{cluster: c, user: ann}}}}]\n"
                  "clusters: [{{name: c, cluster: {{server: '{}', certificate-authority: {}/pki/ca.crt}}}}]\n"
                  "users: [{{name: ann, user: {{token: {}}}}}]\n",
                  suite_->cluster().kube_server(), suite_->cluster().dir(), token));
  const auto ann = [&](const std::vector<std::string>& words) {
    std::vector<std::string> command = {e2e::BinDir() + "/basaltctl", "--gateway=" + suite_->Gateways(),
                                        "--kubeconfig=" + kubeconfig, "--tls-ca-file=" + suite_->authority_file(),
                                        "--identity-mapping=" + std::string(kMapping)};
    command.insert(command.end(), words.begin(), words.end());
    return e2e::RunToEnd(command, suite_->dir().path(), absl::Seconds(60));
  };
  const e2e::Ran who = ann({"whoami"});
  EXPECT_THAT(who.out, HasSubstr("system:serviceaccount:default:ann")) << who.err;
  EXPECT_EQ(ann({"job", "list"}).exit_code, 0);
  const e2e::Ran refused = ann({"queue", "create", "mine"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("create queues.scheduling.volcano.sh"));
}

}  // namespace
}  // namespace basalt::pods
