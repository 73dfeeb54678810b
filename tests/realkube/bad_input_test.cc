// Tests problems that a real API server reports in words of its own: an expired client certificate, a missing right and
// a missing definition. A named target of readiness reports each problem with its cure until the problem is solved,
// without a restart. gateway/watches/watch_test and gateway/health/problem_test have the other problems.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/http/testing/certificates.h"
#include "common/testing/status_matchers.h"
#include "tests/realkube/running.h"

namespace basalt::realkube {
namespace {

using ::basalt::testing::IsOk;
using ::testing::HasSubstr;

constexpr char kServer[] = "API server";
constexpr char kJobs[] = "watch jobs.batch.volcano.sh";
constexpr char kCommands[] = "watch commands.bus.volcano.sh";
constexpr char kAccount[] = "system:serviceaccount:basalt-system:basalt-gateway";

class RealBadInputTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    absl::StatusOr<std::unique_ptr<Cluster>> cluster = Cluster::Start();
    ASSERT_THAT(cluster, IsOk());
    cluster_ = cluster->release();
  }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  void SetUp() override { ASSERT_NE(cluster_, nullptr); }

  static std::string Pki(const std::string& name) { return fmt::format("{}/pki/{}", cluster_->dir(), name); }
  std::string AuthorityLine() const { return fmt::format("certificate-authority: {}", Pki("ca.crt")); }
  static http::testing::Certificate Authority() { return {e2e::ReadFile(Pki("ca.crt")), e2e::ReadFile(Pki("ca.key"))}; }
  // Writes a client certificate and its key, which the kubeconfig of a test names.
  void WriteClient(const http::testing::Certificate& certificate) {
    e2e::WriteFile(dir_ / "client.key", certificate.key_pem);
    e2e::WriteFile(dir_ / "client.crt", certificate.cert_pem);
  }
  void Kubectl(const std::vector<std::string>& words) { EXPECT_THAT(cluster_->Kubectl(words), IsOk()); }
  void Apply(const std::string& text) {
    e2e::WriteFile(dir_ / "apply.yaml", text);
    Kubectl({"apply", "-f", dir_ / "apply.yaml"});
  }

  static Cluster* cluster_;
  testing::TempDir dir_;
};
Cluster* RealBadInputTest::cluster_ = nullptr;

TEST_F(RealBadInputTest, AnExpiredClientCertificateIsNamedAndCuredByItsFiles) {
  const http::testing::CertificateSpec spec = {.common_name = kAccount, .alternative_names = ""};
  http::testing::CertificateSpec past = spec;
  past.from = -absl::Hours(2);
  past.until = -absl::Hours(1);
  WriteClient(http::testing::MakeCertificate(past, Authority()));
  WriteKubeconfig(dir_ / "kubeconfig", cluster_->kube_server(), AuthorityLine(),
                  fmt::format("client-certificate: {}, client-key: {}", dir_ / "client.crt", dir_ / "client.key"));
  RunningGateway gateway(dir_ / "kubeconfig");
  ASSERT_TRUE(gateway.Reaches(kServer, "unauthorized")) << gateway.Readyz();
  EXPECT_THAT(gateway.Target(kServer).cure, HasSubstr("client certificate"));
  WriteClient(http::testing::MakeCertificate(spec, Authority()));
  EXPECT_TRUE(gateway.Reaches(kJobs, "listed")) << gateway.Readyz();
  EXPECT_TRUE(gateway.alive());
}

// The role has its usual rules, but lacks list and watch of jobs.
TEST_F(RealBadInputTest, AForbiddenKindIsNamedAndHoldsBackNoOther) {
  const std::string role = BASALT_SOURCE_DIR "/deploy/rbac/gateway.yaml";
  std::string text = e2e::ReadFile(role);
  const std::string full = "verbs: [get, list, watch, create, patch, delete]";
  ASSERT_NE(text.find(full), std::string::npos);
  Apply(text.replace(text.find(full), full.size(), "verbs: [get, create, patch, delete]"));
  RunningGateway gateway(cluster_->kubeconfig("gateway"));
  EXPECT_TRUE(gateway.Reaches(kJobs, "forbidden")) << gateway.Readyz();
  EXPECT_THAT(gateway.Target(kJobs).why, HasSubstr("resource \"jobs\" in API group \"batch.volcano.sh\""));
  EXPECT_THAT(gateway.Target(kJobs).cure,
              HasSubstr("grant list and watch on jobs.batch.volcano.sh to the gateway's account; see "
                        "deploy/rbac/gateway.yaml"));
  EXPECT_TRUE(gateway.Reaches(kCommands, "listed")) << "the others are not held back";
  EXPECT_TRUE(gateway.Target(kServer).ready);
  EXPECT_THAT(gateway.Metrics(),
              HasSubstr(R"(basalt_gateway_watch_errors_total{reason="forbidden",watch="jobs.batch.volcano.sh"} 1)"));
  Kubectl({"apply", "-f", role});
  EXPECT_TRUE(gateway.Reaches(kJobs, "listed")) << gateway.Readyz();
  EXPECT_TRUE(gateway.alive());
}

TEST_F(RealBadInputTest, AMissingDefinitionIsAbsentUntilItComesAlsoInOtherVersions) {
  const std::string file = BASALT_SOURCE_DIR "/deploy/crds/bus.volcano.sh_commands.yaml";
  std::string text = e2e::ReadFile(file);
  const std::string version = "name: v1alpha1";
  ASSERT_NE(text.find(version), std::string::npos);
  Kubectl({"delete", "-f", file, "--wait"});
  RunningGateway gateway(cluster_->kubeconfig("gateway"));
  EXPECT_TRUE(gateway.Reaches(kCommands, "absent")) << gateway.Readyz();
  EXPECT_TRUE(gateway.Target(kCommands).ready) << "a cluster may do without it";
  EXPECT_THAT(gateway.Target(kCommands).cure, HasSubstr("kubectl apply -f deploy/crds"));
  e2e::WriteFile(dir_ / "other.yaml", text.replace(text.find(version), version.size(), "name: v7"));
  Kubectl({"create", "-f", dir_ / "other.yaml"});
  EXPECT_TRUE(gateway.Reaches(kCommands, "version")) << gateway.Readyz();
  EXPECT_FALSE(gateway.Target(kCommands).ready);
  EXPECT_THAT(gateway.Target(kCommands).why, HasSubstr("as v7, not as v1alpha1"));
  EXPECT_TRUE(gateway.Reaches(kJobs, "listed"));
  Kubectl({"delete", "-f", dir_ / "other.yaml", "--wait"});
  Kubectl({"create", "-f", file});
  EXPECT_TRUE(gateway.Reaches(kCommands, "listed")) << gateway.Readyz();
  EXPECT_TRUE(gateway.alive());
}

}  // namespace
}  // namespace basalt::realkube
