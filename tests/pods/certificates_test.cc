// The suite runs on certificates that it does not issue itself: those of cert-manager, whose controllers run beside the
// cluster, and those that kubelet requests for each pod from a signer of the test.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/base/status.h"
#include "common/http/testing/certificates.h"
#include "common/identity/certificate.h"
#include "tests/pods/helm_fixture.h"

namespace basalt::pods {
namespace {

using e2e::Eventually;
using e2e::Ran;
using http::testing::Certificate;
using ::testing::HasSubstr;

class CertificatesTest : public HelmTest {
 protected:
  // Sets the certificate that Ctl() presents.
  void ActWith(const std::string& certificate, const std::string& key, const std::string& authority) {
    const std::string folder = suite_->dir() / "operator";
    std::filesystem::create_directory(folder);
    e2e::WriteFile(folder + "/tls.crt", certificate);
    e2e::WriteFile(folder + "/tls.key", key);
    e2e::WriteFile(folder + "/ca.crt", authority);
    suite_->ActBy(folder);
  }
};

class CertManagerTest : public CertificatesTest {
 protected:
  // Returns a file of a Secret of the suite. Empty if the Secret or the file does not exist.
  std::string FileOf(const std::string& secret, const std::string& file) {
    const json::value object = suite_->Object("secret", secret);
    const json::value* const data = object.is_object() ? FindPath(object, {"data"}) : nullptr;
    std::string text;
    if (data != nullptr) absl::Base64Unescape(ToAbsl(FindString(*data, file)), &text);
    return text;
  }
};

TEST_F(CertManagerTest, TheSuiteRunsOnTheSecretsOfItsCertificatesAndTakesRenewedOnes) {
  const absl::StatusOr<std::string> definitions = realkube::DefinitionsOf("cert-manager");
  ASSERT_TRUE(definitions.ok()) << definitions.status();
  suite_->Kubectl({"create", "--validate=false", "-f", *definitions});
  suite_->Kubectl({"wait", "--for", "condition=Established", "--timeout", "30s", "-f", *definitions});
  const e2e::Child controllers({LineOf({BASALT_SOURCE_DIR "/scripts/realkube", "cert-manager"}), "--kubeconfig",
                                suite_->cluster().kubeconfig("actors")},
                               suite_->dir() / "cert-manager.out", suite_->dir() / "cert-manager.err");
  // Otherwise the pods would mount Secrets of another authority until cert-manager has replaced them.
  suite_->Kubectl({"delete", "secret", "-n", kNamespace, "--ignore-not-found", "basalt-gateway-tls",
                   "basalt-jobsvc-tls", "basalt-pgsvc-tls", "basalt-queuesvc-tls"});
  const Ran installed = InstallRelease({"--set", "certificates.source=cert-manager", "--wait", "--timeout", "90s"});
  ASSERT_EQ(installed.exit_code, 0) << installed.err << e2e::ReadFile(suite_->dir() / "cert-manager.err");
  ASSERT_TRUE(Eventually(kLimit, [&] { return !FileOf("basalt-operator-tls", "tls.crt").empty(); }));
  ActWith(FileOf("basalt-operator-tls", "tls.crt"), FileOf("basalt-operator-tls", "tls.key"),
          FileOf("basalt-operator-tls", "ca.crt"));
  EXPECT_THAT(suite_->Ctl({"topology"}).out, HasSubstr("basalt-jobsvc-2"));
  EXPECT_TRUE(AJobCompletes("first"));

  const std::string end = suite_->CertificateEnd("basalt-jobsvc-1");
  ASSERT_NE(end, "");
  suite_->Kubectl({"delete", "secret", "-n", kNamespace, "basalt-jobsvc-tls"});
  EXPECT_TRUE(Eventually(absl::Minutes(3), [&] {
    const std::string now = suite_->CertificateEnd("basalt-jobsvc-1");
    return !now.empty() && now != end;
  }));
  EXPECT_TRUE(AJobCompletes("renewed"));
  EXPECT_EQ(suite_->Restarts(), "00000000000");
}

class PodCertificatesTest : public CertificatesTest {
 protected:
  static constexpr char kApi[] = "certificates.k8s.io/v1beta1";

  // Runs kubectl as the service account of signer.yaml.
  Ran AsSigner(std::vector<std::string> words, const json::value& object) {
    const std::string file = suite_->dir() / "signer.json";
    e2e::WriteFile(file, ToText(object));
    words.insert(words.end(), {"-f", file, "--as=system:serviceaccount:basalt-system:basalt-signer"});
    return suite_->TryKubectl(words);
  }
  void Publish() {
    const json::value bundle = {{"apiVersion", kApi},
                                {"kind", "ClusterTrustBundle"},
                                {"metadata", {{"name", "basalt.dev:suite:authority"}}},
                                {"spec", {{"signerName", "basalt.dev/suite"}, {"trustBundle", authority_.cert_pem}}}};
    // The server enforces rights a moment after their creation.
    Ran made;
    EXPECT_TRUE(Eventually(kLimit, [&] { return (made = AsSigner({"create"}, bundle)).exit_code == 0; })) << made.err;
  }
  void AnswerRequests() {
    const std::string path = fmt::format("/apis/{}/namespaces/{}/podcertificaterequests", kApi, kNamespace);
    const absl::StatusOr<json::value> list = ParseJson(suite_->Kubectl({"get", "--raw", path}));
    ASSERT_TRUE(list.ok()) << list.status();
    for (const json::value& request : list->at("items").as_array()) {
      const json::value* const status = Find(request, "status");
      if (status == nullptr || Find(*status, "conditions") == nullptr) AnswerRequest(path, request);
    }
  }
  void AnswerRequest(const std::string& path, json::value request) {
    const json::value& spec = request.at("spec");
    http::testing::CertificateSpec wanted{
        .common_name = "",
        .alternative_names =
            fmt::format("URI:spiffe://basalt.local/ns/{}/sa/{}", kNamespace, FindString(spec, "serviceAccountName")),
        .usages = "serverAuth,clientAuth",
        .from = -absl::Minutes(1)};
    const absl::Duration lifetime = absl::Seconds(FindInt(spec, "maxExpirationSeconds"));
    wanted.until = wanted.from + lifetime;
    ASSERT_TRUE(absl::Base64Unescape(ToAbsl(FindString(spec, "stubPKCS10Request")), &wanted.request));
    const std::string chain = http::testing::MakeCertificate(wanted, authority_).cert_pem;
    const auto facts = identity::ReadCertificate(chain);
    ASSERT_TRUE(facts.ok()) << facts.status();
    const auto text = [](absl::Time time) { return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone()); };
    request.as_object()["status"] = {{"certificateChain", chain},
                                     {"notBefore", text(facts->not_before)},
                                     {"beginRefreshAt", text(facts->not_before + lifetime * 2 / 3)},
                                     {"notAfter", text(facts->not_after)},
                                     {"conditions",
                                      {{{"type", "Issued"},
                                        {"status", "True"},
                                        {"reason", "Issued"},
                                        {"message", "the signer of the test has signed"},
                                        {"lastTransitionTime", text(facts->not_before)}}}}};
    const std::string name(FindString(request.at("metadata"), "name"));
    const Ran answered = AsSigner({"replace", "--raw", fmt::format("{}/{}/status", path, name)}, request);
    EXPECT_EQ(answered.exit_code, 0) << answered.err;
  }

  const Certificate authority_ = http::testing::MakeCertificate(
      {.common_name = "authority", .alternative_names = "", .authority = true, .until = absl::Hours(24 * 365)});
};

TEST_F(PodCertificatesTest, TheSuiteRunsOnWhatASignerAnswersKubelet) {
  const Ran installed = InstallRelease({"--set", "certificates.source=pod-certificates"});
  ASSERT_EQ(installed.exit_code, 0) << installed.err;
  Publish();
  EXPECT_TRUE(Eventually(kLimit, [&] {
    AnswerRequests();
    return suite_->IsReadyWithin(absl::Seconds(2));
  })) << suite_->Kubectl({"get", "events", "-n", kNamespace});
  const Certificate person = http::testing::MakeCertificate(
      {.common_name = "",
       .alternative_names = "URI:spiffe://basalt.local/cluster/default/role/operator/ann",
       .usages = "serverAuth,clientAuth"},
      authority_);
  ActWith(person.cert_pem, person.key_pem, authority_.cert_pem);
  EXPECT_THAT(suite_->Ctl({"topology"}).out, HasSubstr("basalt-queuesvc-2"));
  EXPECT_TRUE(AJobCompletes("by-kubelet"));
}

}  // namespace
}  // namespace basalt::pods
