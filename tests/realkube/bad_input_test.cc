// Tests problems of a real cluster, and of the files and rights that a person gives us for the cluster. A named target
// of readiness reports each problem with its cure, a metric counts the problem, and the gateway keeps running. The
// report ends as soon as the problem is solved, without a restart.
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

TEST_F(RealBadInputTest, AWrongAuthorityIsToldAndCuredByItsFile) {
  const auto other = http::testing::MakeCertificate({.common_name = "other", .authority = true});
  e2e::WriteFile(dir_ / "ca.crt", other.cert_pem);
  WriteKubeconfig(dir_ / "kubeconfig", cluster_->kube_server(),
                  fmt::format("certificate-authority: {}", dir_ / "ca.crt"),
                  fmt::format("client-certificate: {}, client-key: {}", Pki("gateway.crt"), Pki("gateway.key")));
  RunningGateway gateway(dir_ / "kubeconfig");
  ASSERT_TRUE(gateway.Reaches(kServer, "untrusted")) << gateway.Readyz();
  EXPECT_FALSE(gateway.Target(kServer).ready);
  EXPECT_THAT(gateway.Target(kServer).cure, HasSubstr("certificate-authority"));
  EXPECT_FALSE(gateway.Target(kServer).since.empty());
  EXPECT_THAT(gateway.Metrics(), HasSubstr(R"(gateway_target{state="untrusted",target="API server"} 1)"));
  e2e::WriteFile(dir_ / "ca.crt", e2e::ReadFile(Pki("ca.crt")));
  EXPECT_TRUE(gateway.Reaches(kJobs, "listed")) << gateway.Readyz();
  EXPECT_TRUE(gateway.Reaches(kServer, "ready")) << gateway.Readyz();
  EXPECT_TRUE(gateway.alive());
}

TEST_F(RealBadInputTest, AnExpiredServerCertificateIsToldAndOverWhenItIsRenewed) {
  const std::string good_cert = e2e::ReadFile(Pki("server.crt"));
  const std::string good_key = e2e::ReadFile(Pki("server.key"));
  const auto expired = http::testing::MakeCertificate({.from = -absl::Hours(2), .until = -absl::Hours(1)}, Authority());
  e2e::WriteFile(Pki("server.crt"), expired.cert_pem);
  e2e::WriteFile(Pki("server.key"), expired.key_pem);
  ASSERT_THAT(cluster_->Kill("kube-apiserver"), IsOk());
  // kubectl does not trust the certificate either, so that the script's wait for the server fails.
  (void)cluster_->Restart("kube-apiserver");
  RunningGateway gateway(cluster_->kubeconfig("gateway"));
  EXPECT_TRUE(gateway.Reaches(kServer, "untrusted")) << gateway.Readyz();
  EXPECT_THAT(gateway.Target(kServer).why, HasSubstr("expired"));
  EXPECT_THAT(gateway.Target(kServer).cure, HasSubstr("renew the API server's serving certificate"));
  e2e::WriteFile(Pki("server.crt"), good_cert);
  e2e::WriteFile(Pki("server.key"), good_key);
  ASSERT_THAT(cluster_->Kill("kube-apiserver"), IsOk());
  ASSERT_THAT(cluster_->Restart("kube-apiserver"), IsOk());
  EXPECT_TRUE(gateway.Reaches(kJobs, "listed")) << gateway.Readyz();
  EXPECT_TRUE(gateway.alive());
}

TEST_F(RealBadInputTest, AnExpiredClientCertificateIsToldAndCuredByItsFiles) {
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

TEST_F(RealBadInputTest, ARevokedTokenIsToldAndCuredByItsFile) {
  const auto new_token = [&] {
    const absl::StatusOr<std::string> token =
        cluster_->Kubectl({"create", "token", "basalt-gateway", "--namespace", "basalt-system"});
    ASSERT_THAT(token, IsOk());
    e2e::WriteFile(dir_ / "token", token->substr(0, token->find('\n')));
  };
  new_token();
  WriteKubeconfig(dir_ / "kubeconfig", cluster_->kube_server(), AuthorityLine(),
                  fmt::format("tokenFile: {}", dir_ / "token"));
  RunningGateway gateway(dir_ / "kubeconfig");
  ASSERT_TRUE(gateway.Reaches(kJobs, "listed")) << gateway.Readyz();
  Kubectl({"delete", "serviceaccount", "basalt-gateway", "--namespace", "basalt-system"});
  // Open connections stay open: the server authenticates only new requests.
  ASSERT_THAT(cluster_->Kill("kube-apiserver"), IsOk());
  ASSERT_THAT(cluster_->Restart("kube-apiserver"), IsOk());
  EXPECT_TRUE(gateway.Reaches(kServer, "unauthorized")) << gateway.Readyz();
  EXPECT_FALSE(gateway.Target(kServer).ready);
  Kubectl({"create", "serviceaccount", "basalt-gateway", "--namespace", "basalt-system"});
  new_token();
  EXPECT_TRUE(gateway.Reaches(kServer, "ready")) << gateway.Readyz();
  EXPECT_TRUE(gateway.alive());
}

// The role has its usual rules, but lacks list and watch of jobs.
TEST_F(RealBadInputTest, AForbiddenKindIsToldAndHoldsBackNoOther) {
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

TEST_F(RealBadInputTest, AMissingDefinitionIsAbsentAndFoundWhenItComes) {
  const std::string file = BASALT_SOURCE_DIR "/deploy/crds/bus.volcano.sh_commands.yaml";
  Kubectl({"delete", "-f", file, "--wait"});
  RunningGateway gateway(cluster_->kubeconfig("gateway"));
  EXPECT_TRUE(gateway.Reaches(kCommands, "absent")) << gateway.Readyz();
  EXPECT_TRUE(gateway.Target(kCommands).ready) << "a cluster may do without it";
  EXPECT_THAT(gateway.Target(kCommands).cure, HasSubstr("kubectl apply -f deploy/crds"));
  EXPECT_THAT(gateway.Metrics(),
              HasSubstr(R"(gateway_target{state="absent",target="watch commands.bus.volcano.sh"} 1)"));
  Kubectl({"create", "-f", file});
  EXPECT_TRUE(gateway.Reaches(kCommands, "listed")) << gateway.Readyz();
  EXPECT_TRUE(gateway.alive());
}

TEST_F(RealBadInputTest, ADefinitionInOtherVersionsIsToldWithBothVersions) {
  const std::string file = BASALT_SOURCE_DIR "/deploy/crds/bus.volcano.sh_commands.yaml";
  std::string text = e2e::ReadFile(file);
  const std::string version = "name: v1alpha1";
  ASSERT_NE(text.find(version), std::string::npos);
  Kubectl({"delete", "-f", file, "--wait"});
  e2e::WriteFile(dir_ / "other.yaml", text.replace(text.find(version), version.size(), "name: v7"));
  Kubectl({"create", "-f", dir_ / "other.yaml"});
  RunningGateway gateway(cluster_->kubeconfig("gateway"));
  EXPECT_TRUE(gateway.Reaches(kCommands, "version")) << gateway.Readyz();
  EXPECT_FALSE(gateway.Target(kCommands).ready);
  EXPECT_THAT(gateway.Target(kCommands).why, HasSubstr("as v7, not as v1alpha1"));
  EXPECT_TRUE(gateway.Reaches(kJobs, "listed"));
  Kubectl({"delete", "-f", dir_ / "other.yaml", "--wait"});
  Kubectl({"create", "-f", file});
  EXPECT_TRUE(gateway.Reaches(kCommands, "listed")) << gateway.Readyz();
  EXPECT_TRUE(gateway.alive());
}

TEST_F(RealBadInputTest, AServerThatIsNotThereAtStartIsWaitedFor) {
  ASSERT_THAT(cluster_->Kill("kube-apiserver"), IsOk());
  RunningGateway gateway(cluster_->kubeconfig("gateway"));
  EXPECT_TRUE(gateway.Reaches(kServer, "unreachable")) << gateway.Readyz();
  EXPECT_THAT(gateway.Target(kServer).cure, HasSubstr("see that the API server runs"));
  EXPECT_EQ(gateway.Target(kJobs).state, "unreachable");
  ASSERT_THAT(cluster_->Restart("kube-apiserver"), IsOk());
  EXPECT_TRUE(gateway.Reaches(kJobs, "listed")) << gateway.Readyz();
  EXPECT_TRUE(gateway.Reaches(kServer, "ready"));
  // The server is gone again, for longer than readiness waits.
  ASSERT_THAT(cluster_->Kill("kube-apiserver"), IsOk());
  EXPECT_TRUE(gateway.Reaches(kServer, "unreachable")) << gateway.Readyz();
  EXPECT_EQ(gateway.Target(kJobs).state, "listed") << "what is known is still good";
  ASSERT_THAT(cluster_->Restart("kube-apiserver"), IsOk());
  EXPECT_TRUE(gateway.Reaches(kServer, "ready")) << gateway.Readyz();
  EXPECT_TRUE(gateway.alive());
}

TEST_F(RealBadInputTest, AnObjectThatTheDefinitionTakesAndWeCannotReadSaysSoItself) {
  const std::string open = R"([{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema",)"
                           R"("value":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}])";
  Kubectl({"patch", "crd", "podgroups.scheduling.volcano.sh", "--type", "json", "-p", open});
  RunningGateway gateway(cluster_->kubeconfig("gateway"));
  ASSERT_TRUE(gateway.Reaches("watch podgroups.scheduling.volcano.sh", "listed")) << gateway.Readyz();
  const std::string name(253, 'g');
  e2e::WriteFile(dir_ / "group.yaml", fmt::format("apiVersion: scheduling.volcano.sh/v1beta1\n"
                                                  "kind: PodGroup\n"
                                                  "metadata: {{name: {}}}\n"
                                                  "spec: {{minMember: 4294967297}}\n",
                                                  name));
  // The server may cache the old definition for a moment.
  EXPECT_TRUE(e2e::Eventually(absl::Seconds(30), [&] {
    return cluster_->Kubectl({"create", "--validate=false", "-f", dir_ / "group.yaml"}).ok();
  }));
  std::string events;
  // The gateway may have to wait for the lead, for the duration of one Lease.
  EXPECT_TRUE(e2e::Eventually(absl::Minutes(1), [&] {
    events = cluster_->Kubectl({"get", "events", "-o", "yaml"}).value_or("");
    return events.find("spec.minMember: 4294967297 is not between") != std::string::npos;
  })) << events;
  EXPECT_THAT(events, HasSubstr("reason: Unreadable"));
  EXPECT_THAT(gateway.Metrics(), HasSubstr(R"(gateway_undecodable_total{field="spec.minMember",watch="podgroups.)"));
  EXPECT_TRUE(gateway.Target("watch podgroups.scheduling.volcano.sh").ready) << "nothing waits for it";
  Kubectl({"delete", "podgroup", name});
  Kubectl({"replace", "-f", BASALT_SOURCE_DIR "/deploy/crds/scheduling.volcano.sh_podgroups.yaml"});
  EXPECT_TRUE(gateway.alive());
}

}  // namespace
}  // namespace basalt::realkube
