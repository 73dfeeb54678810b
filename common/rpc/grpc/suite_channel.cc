#include "common/rpc/grpc/suite_channel.h"

#include <fmt/format.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/identity/rights.h"

namespace basalt::rpc {
namespace {

namespace tls = grpc::experimental;

class SuiteVerifier final : public tls::ExternalCertificateVerifier {
 public:
  SuiteVerifier(identity::IdentityRules rules, uint32_t servers, std::shared_ptr<const identity::DeniedList> denied)
      : rules_(std::move(rules)), servers_(servers), denied_(std::move(denied)) {}
  ~SuiteVerifier() override = default;

  bool Verify(tls::TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* sync_status) override {
    std::vector<std::string> uris;
    for (const grpc::string_ref& uri : request->uri_names()) uris.emplace_back(uri.data(), uri.size());
    const absl::StatusOr<identity::Identity> server = rules_.IdentityOf(uris);
    if (!server.ok()) {
      *sync_status = grpc::Status(grpc::StatusCode::UNAUTHENTICATED, std::string(ToStd(server.status().message())));
    } else if (denied_->Has(uris)) {
      *sync_status = grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "the identity of the server is denied");
    } else if ((servers_ & identity::Only({server->role})) == 0) {
      *sync_status =
          grpc::Status(grpc::StatusCode::UNAUTHENTICATED,
                       fmt::format("the server has the certificate of a {}", identity::NameOf(server->role)));
    }
    return true;
  }
  void Cancel(tls::TlsCustomVerificationCheckRequest*) override {}

 private:
  const identity::IdentityRules rules_;
  const uint32_t servers_;
  const std::shared_ptr<const identity::DeniedList> denied_;
};

}  // namespace

std::shared_ptr<grpc::ChannelCredentials> MakeSuiteChannelCredentials(
    const TlsProvider& provider, bool has_certificate, const identity::IdentityRules& rules, uint32_t servers,
    std::shared_ptr<const identity::DeniedList> denied) {
  tls::TlsChannelCredentialsOptions options;
  Believe(provider, options);
  if (has_certificate) Show(provider, options);
  options.set_verify_server_certs(true);
  // Members are reached by addresses that no certificate names, so they are identified by their identities.
  options.set_check_call_host(false);
  options.set_certificate_verifier(
      tls::ExternalCertificateVerifier::Create<SuiteVerifier>(rules, servers, std::move(denied)));
  return tls::TlsCredentials(options);
}

}  // namespace basalt::rpc
