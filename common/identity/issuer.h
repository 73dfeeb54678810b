#pragma once

// Makes an authority and the certificates of a suite, where neither cert-manager nor Kubernetes makes them. Any thread.
// The keys are ECDSA of P-256.
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

// INTERNAL if OpenSSL fails, for lack of memory or random numbers.
absl::StatusOr<KeyPair> MakeAuthority(const std::string& name, const Validity& validity);

// Returns a certificate of that identity, for servers and clients. The certificate of a process also states its role as
// a DNS name ("jobsvc"), which a client of its pages may compare. INVALID_ARGUMENT: the certificate or the key of the
// authority cannot be read, or the authority ends before the certificate. INTERNAL as above.
absl::StatusOr<KeyPair> Issue(const KeyPair& authority, const Identity& identity, const Validity& validity);

// Returns a certificate that all replicas of a role share. Its URI is no identity's, but one that the suite maps to the
// role. INVALID_ARGUMENT also if the URI has characters that end a name of a certificate. Otherwise as above.
absl::StatusOr<KeyPair> IssueShared(const KeyPair& authority, Role role, std::string_view uri,
                                    const Validity& validity);

}  // namespace basalt::identity
