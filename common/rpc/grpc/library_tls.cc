#include "common/rpc/grpc/library_tls.h"

#include <utility>
#include <vector>

#include "common/base/status_macros.h"

// The header came with the present interface; the old interface has been deprecated since.
#if __has_include(<grpcpp/security/tls_private_key_signer.h>)
#define BASALT_GRPC_HAS_TWO_PROVIDERS 1
#else
#define BASALT_GRPC_HAS_TWO_PROVIDERS 0
#endif

namespace basalt::rpc {

namespace tls = grpc::experimental;

#if BASALT_GRPC_HAS_TWO_PROVIDERS

void Believe(const TlsProvider& provider, tls::TlsChannelCredentialsOptions& options) {
  options.set_root_certificate_provider(provider);
}

void Show(const TlsProvider& provider, tls::TlsChannelCredentialsOptions& options) {
  options.set_identity_certificate_provider(provider);
}

tls::TlsServerCredentialsOptions ServerOptions(const TlsProvider& provider) {
  tls::TlsServerCredentialsOptions options = tls::TlsServerCredentialsOptions::Create(provider).value();
  options.set_root_certificate_provider(provider);
  return options;
}

absl::StatusOr<TlsProvider> MakeFixedProvider(const std::string& authorities, const identity::KeyPair& own) {
  auto provider = std::make_shared<tls::InMemoryCertificateProvider>();
  if (!authorities.empty()) BASALT_RETURN_IF_ERROR(provider->UpdateRoot(authorities));
  if (!own.certificate_pem.empty()) {
    std::vector<tls::IdentityKeyOrSignerCertPair> pairs;
    pairs.push_back({.private_key = own.key_pem, .certificate_chain = own.certificate_pem});
    BASALT_RETURN_IF_ERROR(provider->UpdateIdentityKeyCertPair(std::move(pairs)));
  }
  return provider;
}

#else

void Believe(const TlsProvider& provider, tls::TlsChannelCredentialsOptions& options) {
  options.set_certificate_provider(provider);
  options.watch_root_certs();
}

void Show(const TlsProvider& provider, tls::TlsChannelCredentialsOptions& options) {
  options.set_certificate_provider(provider);
  options.watch_identity_key_cert_pairs();
}

tls::TlsServerCredentialsOptions ServerOptions(const TlsProvider& provider) {
  tls::TlsServerCredentialsOptions options(provider);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  return options;
}

absl::StatusOr<TlsProvider> MakeFixedProvider(const std::string& authorities, const identity::KeyPair& own) {
  std::vector<tls::IdentityKeyCertPair> pairs;
  if (!own.certificate_pem.empty()) {
    pairs.push_back({.private_key = own.key_pem, .certificate_chain = own.certificate_pem});
  }
  return std::make_shared<tls::StaticDataCertificateProvider>(authorities, pairs);
}

#endif

}  // namespace basalt::rpc
