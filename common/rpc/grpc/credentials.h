#pragma once

// How the ports and channels of a process are secured: by mutual TLS with identities (common/identity), or not at all,
// for loopback and tests. Any thread. Heavy (gRPC): only in .cc files.
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
  std::string certificate;  // The process's own certificate, and the chain up to the authority, in PEM.
  std::string key;
  std::string authorities;  // The authorities that sign peers' certificates.
  std::string denied;       // File of the denied identities (common/identity/denied.h). Empty if there is none.
  // How often the files are looked at. To replace certificate and key at the same time, replace the folder, or a link
  // to it. Open connections stay open.
  absl::Duration refresh = absl::Seconds(10);
};

struct CheckedFiles {
  identity::CertificateFacts facts;
  identity::KeyPair own;  // The texts of certificate and key.
};

// Reads the files, and checks that they can be used together. INVALID_ARGUMENT names the file and the rule.
absl::StatusOr<CheckedFiles> CheckFiles(const TlsFiles& files);

class Credentials {
 public:
  static std::shared_ptr<const Credentials> Insecure();
  // INVALID_ARGUMENT names the file and the rule: the file cannot be read, the key is not the certificate's, or the
  // certificate has no identity by `rules`.
  static absl::StatusOr<std::shared_ptr<const Credentials>> FromFiles(const TlsFiles& files,
                                                                      const identity::IdentityRules& rules);

  virtual ~Credentials() = default;
  virtual bool is_secure() const = 0;
  // Clients need a certificate of the authorities, and gRPC asks `guard` for every call. If the guard takes users of
  // Kubernetes, a client may have no certificate; at a gateway it may also have a user's certificate. Without TLS
  // `guard` is null, and every client may call everything. Requires: `guard` is not null with TLS.
  virtual std::shared_ptr<grpc::ServerCredentials> ForServer(std::shared_ptr<const CallGuard> guard) const = 0;
  // A server needs a certificate of the authorities with an identity of the cluster and one of these roles (a mask of
  // identity::Only), whatever its host name is. The same roles give the same credentials, so that channels to one
  // address share their connection.
  virtual std::shared_ptr<grpc::ChannelCredentials> ForChannel(uint32_t servers) const = 0;
  // The identity of this process. Null without TLS.
  virtual const identity::Identity* self() const = 0;
  // The identities that this process neither serves nor calls. Null without TLS.
  virtual std::shared_ptr<identity::DeniedList> denied() const = 0;
  // Null without TLS.
  virtual const TlsFiles* files() const = 0;
  // The rules by which identities are read. Null without TLS.
  virtual const identity::IdentityRules* rules() const = 0;
};

}  // namespace basalt::rpc
