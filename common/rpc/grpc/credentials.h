#pragma once

// How the ports and channels of a process are secured: mutual TLS with identities (common/identity), or not at all, for
// loopback and tests. Any thread. Heavy (gRPC): only in .cc files.
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/identity/certificate.h"
#include "common/identity/denied.h"
#include "common/identity/identity.h"
#include "common/identity/issuer.h"
#include "common/rpc/grpc/call_guard.h"

namespace basalt::rpc {

struct TlsFiles {
  std::string certificate;  // The process's own, and the chain up to the authority, in PEM.
  std::string key;
  std::string authorities;  // The authorities that sign peers' certificates.
  std::string denied;       // Identities that are denied (common/identity/denied.h); empty: nobody is.
  // How often the files are looked at. Whoever replaces them replaces the folder, or a link to it: certificate and key
  // change together. Connections that are open stay open.
  absl::Duration refresh = absl::Seconds(10);
};

struct CheckedFiles {
  identity::CertificateFacts facts;
  identity::KeyPair own;  // The texts of certificate and key.
};

// What the files have, if they can be used together. INVALID_ARGUMENT names the file and the rule.
absl::StatusOr<CheckedFiles> CheckFiles(const TlsFiles& files);

class Credentials {
 public:
  static std::shared_ptr<const Credentials> Insecure();
  // INVALID_ARGUMENT names the file and the rule: it cannot be read, the key is not the certificate's, or the
  // certificate has no identity by `rules`.
  static absl::StatusOr<std::shared_ptr<const Credentials>> FromFiles(const TlsFiles& files,
                                                                      const identity::IdentityRules& rules);

  virtual ~Credentials() = default;
  virtual bool is_secure() const = 0;
  // Clients need a certificate of the authorities, and `guard` is asked for every call. Where the guard takes users of
  // Kubernetes, clients may have no certificate, at a gateway also one of a user. Without TLS `guard` is null,
  // and everybody may call everything. Requires: `guard` is not null with TLS.
  virtual std::shared_ptr<grpc::ServerCredentials> ForServer(std::shared_ptr<const CallGuard> guard) const = 0;
  // A server needs a certificate of the authorities with an identity of the cluster and one of these roles (a mask of
  // identity::Only), whatever its host is called. The same roles give the same credentials: channels to one address
  // share their connection.
  virtual std::shared_ptr<grpc::ChannelCredentials> ForChannel(uint32_t servers) const = 0;
  // Who this process is; null without TLS.
  virtual const identity::Identity* self() const = 0;
  // Whom this process neither serves nor calls; null without TLS.
  virtual std::shared_ptr<identity::DeniedList> denied() const = 0;
  // Null without TLS.
  virtual const TlsFiles* files() const = 0;
  // The rules by which identities are read; null without TLS.
  virtual const identity::IdentityRules* rules() const = 0;
};

}  // namespace basalt::rpc
