#pragma once

// Makes an authority of one's own and the certificates of a suite, where neither cert-manager nor Kubernetes does.
// Any thread. The keys are ECDSA of P-256.
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/identity/identity.h"

namespace basalt::identity {

struct KeyPair {
  std::string certificate_pem;
  std::string key_pem;
};

struct Validity {
  absl::Time from;
  absl::Time until;
};

// INTERNAL: OpenSSL refuses, for want of memory or random numbers.
absl::StatusOr<KeyPair> MakeAuthority(const std::string& name, const Validity& validity);

// A certificate of that identity, for servers and clients. That of a process states its role as a DNS name, too, which
// a client of its pages may compare: "jobsvc". INVALID_ARGUMENT: certificate or key of the authority cannot be read, or
// the authority ends before the certificate. INTERNAL as above.
absl::StatusOr<KeyPair> Issue(const KeyPair& authority, const Identity& identity, const Validity& validity);

// A certificate that all replicas of a role share: its URI is none of an identity, but one that the suite maps to the
// role. Otherwise as above. INVALID_ARGUMENT: the URI has characters that end a name of a certificate.
absl::StatusOr<KeyPair> IssueShared(const KeyPair& authority, Role role, std::string_view uri,
                                    const Validity& validity);

}  // namespace basalt::identity
