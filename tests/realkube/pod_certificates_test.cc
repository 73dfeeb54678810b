// deploy/certificates/pod-certificates on Kubernetes 1.37. The kubelet of the test is KWOK, which mounts nothing: the
// test requests certificates in the name of the node, as kubelet does, and a signer of the test answers with the rights
// of signer.yaml alone.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/http/testing/certificates.h"
#include "common/identity/certificate.h"
#include "tests/realkube/certificates_fixture.h"

namespace basalt::realkube {
namespace {

constexpr char kApi[] = "certificates.k8s.io/v1";
constexpr char kSigner[] = "basalt.dev/suite";
constexpr char kOfSigner[] = "fieldSelector=spec.signerName%3Dbasalt.dev%2Fsuite";
constexpr char kNode[] = "node-0";
constexpr char kRequests[] = "/apis/certificates.k8s.io/v1/namespaces/basalt-system/podcertificaterequests";

class PodCertificatesTest : public CertificatesTest {
 protected:
  // The server knows rights and pods a moment after they were created.
  void CreateSoon(const json::value& object, const User& user) {
    conformance::Answer answer;
    EXPECT_TRUE(e2e::Eventually(absl::Minutes(1), [&] {
      answer = Create(object, user);
      return answer.ok();
    })) << answer;
  }
  void Publish() {
    const json::value bundle = {{"apiVersion", kApi},
                                {"kind", "ClusterTrustBundle"},
                                {"metadata", {{"name", "basalt.dev:suite:authority"}}},
                                {"spec", {{"signerName", kSigner}, {"trustBundle", authority_.cert_pem}}}};
    CreateSoon(bundle, signer_);
  }
  void AnswerRequests(size_t count) {
    conformance::Watch watch(*connection_,
                             fmt::format("/apis/{}/podcertificaterequests?watch=true&{}", kApi, kOfSigner),
                             HeadersOf(signer_));
    for (size_t i = 0; i < count; ++i) {
      const auto event = watch.Until([](const conformance::Event& it) {
        return it.At({"status", "conditions"}).empty();
      });
      ASSERT_TRUE(event.has_value());
      AnswerRequest(event->object);
    }
  }
  void AnswerRequest(json::value request) {
    const json::value& spec = request.at("spec");
    http::testing::CertificateSpec wanted{
        .common_name = "",
        .alternative_names =
            fmt::format("URI:spiffe://basalt.local/ns/{}/sa/{}", conformance::At(request, {"metadata", "namespace"}),
                        FindString(spec, "serviceAccountName")),
        .usages = "serverAuth,clientAuth",
        .from = -absl::Minutes(1)};
    const absl::Duration lifetime = absl::Seconds(FindInt(spec, "maxExpirationSeconds"));
    wanted.until = wanted.from + lifetime;
    ASSERT_TRUE(absl::Base64Unescape(ToAbsl(FindString(spec, "stubPKCS10Request")), &wanted.request));
    const std::string chain = http::testing::MakeCertificate(wanted, authority_).cert_pem;
    const auto facts = identity::ReadCertificate(chain);
    ASSERT_THAT(facts, basalt::testing::IsOk());
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
    const conformance::Answer answer =
        Send("PUT", fmt::format("{}/{}/status", CollectionOf(request), conformance::NameOf(request)), request, signer_);
    EXPECT_TRUE(answer.ok()) << answer;
  }

  // A pod of that role with the volume of the component, on the node.
  json::value MakePod(const Process& process) {
    const std::string account = "basalt-" + process.role;
    const std::string accounts = fmt::format("/api/v1/namespaces/{}/serviceaccounts", kNamespace);
    if (!Send("GET", fmt::format("{}/{}", accounts, account)).ok()) {
      const conformance::Answer made = Send("POST", accounts, json::value{{"metadata", {{"name", account}}}});
      EXPECT_TRUE(made.ok()) << made;
    }
    const json::value patch = Manifests("pod-certificates/volume.yaml").at(0);
    const conformance::Answer made =
        Create({{"apiVersion", "v1"},
                {"kind", "Pod"},
                {"metadata", {{"name", process.replica}, {"namespace", kNamespace}}},
                {"spec",
                 {{"serviceAccountName", account},
                  {"nodeName", kNode},
                  {"volumes", *FindPath(patch, {"spec", "template", "spec", "volumes"})},
                  {"containers",
                   {{{"name", "c"},
                     {"image", "i"},
                     {"volumeMounts", {{{"name", "basalt-tls"}, {"mountPath", "/etc/basalt/tls"}}}}}}}}}});
    EXPECT_TRUE(made.ok()) << made;
    return made.json;
  }
  // The request of kubelet for the pod, with the name of the pod.
  void Request(const json::value& pod, const std::string& der) {
    const json::value& projection = pod.at_pointer("/spec/volumes/0/projected/sources/0/podCertificate");
    const std::string account = conformance::At(pod, {"spec", "serviceAccountName"});
    const auto uid = [&](const std::string& path) { return Send("GET", path).uid(); };
    const json::value request = {
        {"apiVersion", kApi},
        {"kind", "PodCertificateRequest"},
        {"metadata", {{"name", conformance::NameOf(pod)}, {"namespace", kNamespace}}},
        {"spec",
         {{"signerName", projection.at("signerName")},
          {"maxExpirationSeconds", projection.at("maxExpirationSeconds")},
          {"podName", conformance::NameOf(pod)},
          {"podUID", conformance::At(pod, {"metadata", "uid"})},
          {"serviceAccountName", account},
          {"serviceAccountUID", uid(fmt::format("/api/v1/namespaces/{}/serviceaccounts/{}", kNamespace, account))},
          {"nodeName", kNode},
          {"nodeUID", uid(fmt::format("/api/v1/nodes/{}", kNode))},
          {"stubPKCS10Request", absl::Base64Escape(der)}}}};
    CreateSoon(request, {fmt::format("system:node:{}", kNode), "system:nodes"});
  }

  const http::testing::Certificate authority_ = http::testing::MakeCertificate(
      {.common_name = "authority", .alternative_names = "", .authority = true, .until = absl::Hours(24 * 365)});
  const User signer_ = {"system:serviceaccount:basalt-system:basalt-signer", "system:serviceaccounts"};
};

TEST_F(PodCertificatesTest, TheSuiteRunsOnWhatASignerAnswersKubelet) {
  CreateAll("pod-certificates/signer.yaml");
  Publish();
  std::vector<std::pair<Process, std::string>> keys;
  for (const Process& process : Processes()) {
    const http::testing::CertificateRequest request = http::testing::MakeRequest();
    Request(MakePod(process), request.der);
    keys.emplace_back(process, request.key_pem);
  }
  ASSERT_NO_FATAL_FAILURE(AnswerRequests(keys.size()));

  const conformance::Answer bundles = Send("GET", fmt::format("/apis/{}/clustertrustbundles?{}", kApi, kOfSigner));
  ASSERT_EQ(bundles.Items().size(), 1) << bundles;
  for (const auto& [process, key] : keys) {
    const conformance::Answer answered = Send("GET", fmt::format("{}/{}", kRequests, process.replica));
    Mount(process, {{"tls.crt", answered.At({"status", "certificateChain"})},
                    {"tls.key", key},
                    {"ca.crt", conformance::At(bundles.Items().at(0), {"spec", "trustBundle"})}});
  }
  ASSERT_NO_FATAL_FAILURE(StartSuite());
  ExpectAJobCompletes("first");
}

}  // namespace
}  // namespace basalt::realkube
