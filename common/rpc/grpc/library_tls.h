#pragma once

// gRPC's own interface to TLS, as far as its versions differ: Debian 12 has 1.51, and the images have a later one
// (docs/images.md). Every function here may be called on any thread.

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/identity/issuer.h"

namespace basalt::rpc {

using TlsProvider = std::shared_ptr<grpc::experimental::CertificateProviderInterface>;

// Makes a client trust the authorities of the provider. Takes the same provider as Show.
void Believe(const TlsProvider& provider, grpc::experimental::TlsChannelCredentialsOptions& options);
// Makes a client send the certificate of the provider.
void Show(const TlsProvider& provider, grpc::experimental::TlsChannelCredentialsOptions& options);

// Makes a server send the certificate of the provider and trust the provider's authorities. Requires: the provider is
// not null.
grpc::experimental::TlsServerCredentialsOptions ServerOptions(const TlsProvider& provider);

// Makes a provider whose certificates never change. `authorities` is PEM; each of the two may be empty.
// INVALID_ARGUMENT if gRPC cannot read them: 1.51 takes everything here, and its handshakes fail.
absl::StatusOr<TlsProvider> MakeFixedProvider(const std::string& authorities, const identity::KeyPair& own);

}  // namespace basalt::rpc
