// deploy/certificates/cert-manager against cert-manager's own definitions on a real API server. The controller of
// cert-manager is not here: a signer of the test fills the Secrets as the controller would.
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/http/testing/certificates.h"
#include "common/identity/certificate.h"
#include "common/identity/identity.h"
#include "tests/realkube/certificates_fixture.h"

namespace basalt::realkube {
namespace {

using http::testing::Certificate;
using ::testing::UnorderedElementsAre;

constexpr char kCertificates[] = "/apis/cert-manager.io/v1/namespaces/basalt-system/certificates";
constexpr char kIssuers[] = "/apis/cert-manager.io/v1/namespaces/basalt-system/issuers";
constexpr char kSecrets[] = "/api/v1/namespaces/basalt-system/secrets";

class CertManagerTest : public CertificatesTest {
 protected:
  // A file of the Secret; empty where there is no such Secret or file.
  std::string FileOf(const std::string& secret, std::string_view file) {
    std::string text;
    absl::Base64Unescape(Send("GET", fmt::format("{}/{}", kSecrets, secret)).At({"data", file}), &text);
    return text;
  }
  // Fills the Secret of the Certificate. An authority stays.
  void Issue(const json::value& certificate) {
    SCOPED_TRACE(conformance::NameOf(certificate));
    const json::value& spec = certificate.at("spec");
    const std::string secret(FindString(spec, "secretName"));
    const bool authority = Find(spec, "isCA") != nullptr;
    if (authority && !FileOf(secret, "tls.crt").empty()) return;
    absl::Duration duration;
    ASSERT_TRUE(absl::ParseDuration(ToAbsl(FindString(spec, "duration")), &duration));
    http::testing::CertificateSpec wanted{.common_name = std::string(FindString(spec, "commonName")),
                                          .alternative_names = "",
                                          .authority = authority,
                                          .until = duration};
    std::optional<Certificate> issuer;
    if (!authority) {
      EXPECT_EQ(ToText(spec.at("usages")), R"(["digital signature","server auth","client auth"])");
      EXPECT_EQ(conformance::At(spec, {"privateKey", "rotationPolicy"}), "Always");
      wanted.usages = "serverAuth,clientAuth";
      wanted.alternative_names = fmt::format("URI:{}", spec.at("uris").at(0).as_string().c_str());
      const std::string name = conformance::At(spec, {"issuerRef", "name"});
      const std::string ca = Send("GET", fmt::format("{}/{}", kIssuers, name)).At({"spec", "ca", "secretName"});
      issuer = {FileOf(ca, "tls.crt"), FileOf(ca, "tls.key")};
      ASSERT_NE(issuer->cert_pem, "");
    }
    const Certificate made = http::testing::MakeCertificate(wanted, issuer);
    const json::value filled = {{"apiVersion", "v1"},
                                {"kind", "Secret"},
                                {"type", "kubernetes.io/tls"},
                                {"metadata", {{"name", secret}}},
                                {"data",
                                 {{"tls.crt", absl::Base64Escape(made.cert_pem)},
                                  {"tls.key", absl::Base64Escape(made.key_pem)},
                                  {"ca.crt", absl::Base64Escape(authority ? made.cert_pem : issuer->cert_pem)}}}};
    const conformance::Answer answer =
        Send("PATCH", fmt::format("{}/{}?fieldManager=cert-manager&force=true", kSecrets, secret), filled, {},
             "application/apply-patch+yaml");
    EXPECT_TRUE(answer.ok()) << answer;
  }
  void IssueAll() {
    for (const json::value& one : Send("GET", kCertificates).Items()) Issue(one);
    for (const Process& process : Processes()) {
      const std::string secret = fmt::format("basalt-{}-tls", process.role);
      Mount(process, {{"tls.crt", FileOf(secret, "tls.crt")},
                      {"tls.key", FileOf(secret, "tls.key")},
                      {"ca.crt", FileOf(secret, "ca.crt")}});
    }
  }
  // The end of the certificate that the process has, as its metrics tell.
  std::string EndOf(const std::string& process) {
    http::CurlOptions pages = world_->suite().pages(process);
    pages.insecure_skip_verify = true;  // The component's certificates state no names of hosts.
    const std::string text = e2e::FetchText(pages, "/metrics");
    const size_t at = text.find("\nbasalt_certificate_end_timestamp_seconds");
    return at == std::string::npos ? "" : text.substr(at, text.find('\n', at + 1) - at);
  }
};

TEST_F(CertManagerTest, TheSuiteRunsOnTheSecretsOfItsCertificates) {
  const absl::StatusOr<std::string> definitions = DefinitionsOf("cert-manager");
  ASSERT_THAT(definitions, basalt::testing::IsOk());
  Cluster& cluster = *e2e::RealCluster();
  ASSERT_THAT(cluster.Kubectl({"create", "--validate=false", "-f", *definitions}), basalt::testing::IsOk());
  ASSERT_THAT(cluster.Kubectl({"wait", "--for", "condition=Established", "--timeout", "30s", "-f", *definitions}),
              basalt::testing::IsOk());
  json::value misspelt = Manifests("cert-manager/certificates.yaml").at(0);
  misspelt.at("spec").as_object()["renewbefore"] = "1h";
  EXPECT_EQ(Create(misspelt).status, 400);
  CreateAll("cert-manager/authority.yaml");
  CreateAll("cert-manager/certificates.yaml");

  IssueAll();
  for (const identity::Role role : identity::kRoles) {
    const std::string name(identity::NameOf(role));
    const auto facts = identity::ReadCertificate(FileOf(fmt::format("basalt-{}-tls", name), "tls.crt"));
    ASSERT_THAT(facts, basalt::testing::IsOk());
    const bool person = role == identity::Role::kOperator || role == identity::Role::kReader;
    EXPECT_THAT(facts->uris, UnorderedElementsAre(
                                 person ? fmt::format("spiffe://basalt.local/cluster/default/role/{0}/{0}", name)
                                        : fmt::format("spiffe://basalt.local/ns/basalt-system/sa/basalt-{}", name)));
  }
  ASSERT_NO_FATAL_FAILURE(StartSuite());
  ExpectAJobCompletes("first");

  const std::string end = EndOf("jobsvc-1");
  EXPECT_NE(end, "");
  IssueAll();
  EXPECT_TRUE(e2e::Eventually(absl::Minutes(1), [&] { return EndOf("jobsvc-1") != end; }));
  ExpectAJobCompletes("renewed");
}

}  // namespace
}  // namespace basalt::realkube
