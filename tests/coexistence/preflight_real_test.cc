// Runs the checks before a take-over against a real Kubernetes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/time/clock.h"
#include "cli/preflight/checks.h"
#include "cli/preflight/curl_kube_api.h"
#include "cli/preflight/report.h"
#include "common/base/status.h"
#include "common/http/kubeconfig/kubeconfig.h"
#include "tests/e2e/harness.h"
#include "tests/realkube/cluster.h"

namespace basalt::coexistence {
namespace {

constexpr char kUpstreamDefinitions[] = BASALT_SOURCE_DIR "/../shared/data/crds";

std::unique_ptr<realkube::Cluster> StartCluster(const std::string& crds) {
  realkube::ClusterOptions options;
  options.kwok = false;
  options.nodes = 1;
  options.crds = crds;
  auto cluster = realkube::Cluster::Start(options);
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  return cluster.ok() ? *std::move(cluster) : nullptr;
}

cli::Findings Ask(const realkube::Cluster& cluster) {
  absl::StatusOr<http::CurlOptions> options = http::ReadKubeconfig(cluster.kubeconfig());
  EXPECT_TRUE(options.ok()) << options.status();
  const auto api = cli::MakeCurlKubeApi(*std::move(options));
  absl::StatusOr<cli::Findings> findings = cli::Preflight(*api, {});
  EXPECT_TRUE(findings.ok()) << findings.status();
  return findings.ok() ? *std::move(findings) : cli::Findings{};
}

// Returns the lines that report a problem. The line about the scheduler is left out: no test here has one.
std::vector<std::string> Problems(const cli::Findings& findings) {
  std::vector<std::string> checks;
  for (const cli::Finding& finding : findings) {
    if (finding.result != cli::Result::kOk && finding.check != "scheduler") {
      checks.push_back(fmt::format("{}: {}", finding.check, finding.what));
    }
  }
  return checks;
}

using Texts = std::vector<std::string>;

TEST(PreflightRealTest, EachObstacleIsNamedAndNothingElse) {
  const auto cluster = StartCluster("");
  ASSERT_NE(cluster, nullptr);
  EXPECT_EQ(Problems(Ask(*cluster)), Texts{});
  const auto policies = [&](std::string_view kind) {
    for (const cli::Finding& finding : Ask(*cluster)) {
      if (finding.check == kind) return finding.what;
    }
    return std::string();
  };
  EXPECT_NE(policies("validatingadmissionpolicies").find("jobs.basalt.dev, "), std::string::npos);
  EXPECT_TRUE(cluster->Kubectl({"apply", "-f", BASALT_SOURCE_DIR "/deploy/admission"}).ok());
  EXPECT_EQ(policies("validatingadmissionpolicies"), "those of deploy/admission are there");
  EXPECT_EQ(policies("mutatingadmissionpolicies"), "those of deploy/admission are there");

  const auto apply = [&](const std::string& text) {
    const std::string file = cluster->dir() + "/object.yaml";
    // Without the separator, kubectl reads a text that begins with a brace as JSON.
    e2e::WriteFile(file, "---\n" + text);
    const auto done = cluster->Kubectl({"apply", "-f", file});
    EXPECT_TRUE(done.ok()) << done.status();
  };
  const auto remove = [&](const Texts& what) {
    Texts command = {"delete"};
    command.insert(command.end(), what.begin(), what.end());
    const auto done = cluster->Kubectl(command);
    EXPECT_TRUE(done.ok()) << done.status();
  };
  const auto lease = [](absl::Time renewed) {
    return fmt::format(R"({{apiVersion: coordination.k8s.io/v1, kind: Lease,
        metadata: {{name: vc-controller-manager, namespace: kube-system}},
        spec: {{holderIdentity: somebody, leaseDurationSeconds: 15, renewTime: "{}"}}}})",
                       absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", renewed, absl::UTCTimeZone()));
  };
  apply(lease(absl::Now() - absl::Minutes(1)));
  EXPECT_EQ(Problems(Ask(*cluster)), Texts{}) << "nobody renews it";
  apply(lease(absl::Now() + absl::Minutes(1)));
  EXPECT_EQ(Problems(Ask(*cluster)),
            Texts{"Lease kube-system/vc-controller-manager: somebody renews it, and no Deployment says with which "
                  "controllers: it may act on the same objects"});
  remove({"lease", "-n", "kube-system", "vc-controller-manager"});

  apply(R"({apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration,
      metadata: {name: volcano-admission-service-jobs-validate},
      webhooks: [{name: validatejob.volcano.sh, failurePolicy: Fail, sideEffects: None, admissionReviewVersions: [v1],
        clientConfig: {service: {namespace: volcano-system, name: volcano-admission-service, path: /jobs/validate}},
        rules: [{apiGroups: [batch.volcano.sh], apiVersions: [v1alpha1], resources: [jobs],
                 operations: [CREATE, UPDATE]}]}]})");
  EXPECT_EQ(Problems(Ask(*cluster)),
            Texts{"webhook validatejob.volcano.sh: it judges writes of jobs, and service "
                  "volcano-system/volcano-admission-service has no endpoints: every such write would be refused"});
  remove({"validatingwebhookconfiguration", "volcano-admission-service-jobs-validate"});

  apply(R"({apiVersion: apps/v1, kind: Deployment, metadata: {name: volcano-controllers, namespace: default},
      spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}},
        spec: {containers: [{name: c, image: "volcanosh/vc-controller-manager:v1.15.0",
          args: ["--controllers=*,-sharding-controller,-job-controller,-gc-controller"]}]}}}})");
  EXPECT_EQ(Problems(Ask(*cluster)),
            Texts{"Deployment default/volcano-controllers: upstream's controller manager has pg-controller, "
                  "queue-controller on: it and pgsvc, queuesvc would act on the same objects"});
  remove({"deployment", "volcano-controllers"});

  remove({"clusterrolebinding", "basalt-gateway"});
  remove({"rolebinding", "-n", "basalt-system", "basalt-gateway"});
  const Texts without_rights = Problems(Ask(*cluster));
  EXPECT_GE(without_rights.size(), cli::GatewayRights().size());
  ASSERT_FALSE(without_rights.empty());
  EXPECT_NE(without_rights.front().find("basalt-gateway may not get, list, watch"), std::string::npos)
      << without_rights.front();

  remove({"crd", "commands.bus.volcano.sh"});
  EXPECT_EQ(Problems(Ask(*cluster)).front(),
            "definition commands.bus.volcano.sh: it is not there: the server does not know this resource");

  // Run the command as people call it.
  const std::string out = cluster->dir() + "/out", err = cluster->dir() + "/err";
  e2e::Child ctl({e2e::BinDir() + "/basaltctl", "preflight", "--kubeconfig", cluster->kubeconfig()}, out, err);
  EXPECT_EQ(ctl.Wait(absl::Seconds(60)), 1);
  EXPECT_NE(e2e::ReadFile(out).find("problem    definition commands.bus.volcano.sh: it is not there"),
            std::string::npos)
      << e2e::ReadFile(out) << e2e::ReadFile(err);
  e2e::Child nowhere({e2e::BinDir() + "/basaltctl", "preflight", "--kubeconfig", out + ".none"}, out, err);
  EXPECT_EQ(nowhere.Wait(absl::Seconds(60)), 2);
}

TEST(PreflightRealTest, UpstreamsDefinitionsWillDo) {
  if (!std::filesystem::exists(kUpstreamDefinitions)) {
    GTEST_SKIP() << "NOT TESTED: " << kUpstreamDefinitions << " is not here";
  }
  const auto cluster = StartCluster(kUpstreamDefinitions);
  ASSERT_NE(cluster, nullptr);
  const cli::Findings findings = Ask(*cluster);
  EXPECT_EQ(Problems(findings), Texts{});
  EXPECT_NE(cli::FormatFindings(findings, "").find("jobs.batch.volcano.sh: upstream's (controller-gen"),
            std::string::npos)
      << cli::FormatFindings(findings, "");
}

}  // namespace
}  // namespace basalt::coexistence
