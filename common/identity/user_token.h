#pragma once

// Signs and verifies a gateway's claims about a user of Kubernetes (proto/basalt/gateway/v1/user.proto). Any thread.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/user.pb.h"
#include "common/identity/identity.h"
#include "common/identity/issuer.h"

namespace basalt::identity {

// gRPC limits all metadata of a call to 8 KiB: the rest is for the path, the deadline and the host.
inline constexpr size_t kMostUserTokenBytes = 5 << 10;

inline constexpr absl::Duration kLongestUserToken = absl::Minutes(10);

// Returns a serialized UserToken. `signer` is the gateway's own certificate, with the chain up to its authority, and
// its key. INVALID_ARGUMENT: certificate or key cannot be read, or they do not belong together. FAILED_PRECONDITION:
// the user has so many groups that the token has more than kMostUserTokenBytes. INTERNAL: OpenSSL fails.
absl::StatusOr<std::string> SignUserToken(const gateway::v1::UserClaims& claims, const KeyPair& signer);

// The authorities of a suite, which its tokens and certificates come from.
class Authorities {
 public:
  // INVALID_ARGUMENT if the text has no certificate, or one that cannot be read.
  static absl::StatusOr<std::shared_ptr<const Authorities>> FromPem(std::string_view pem);
  virtual ~Authorities() = default;

  // Returns the claims of a token. Its certificates must lead from a gateway of `rules` to one of these authorities at
  // `now`, the signature must be the gateway's, and the token's time must not be over; clocks may differ by a minute.
  // A token whose time exceeds kLongestUserToken is refused. UNAUTHENTICATED states which rule does not hold. `signer`
  // gets the URIs of the gateway's certificate, unless it is null.
  virtual absl::StatusOr<gateway::v1::UserClaims> VerifyUserToken(std::string_view token, const IdentityRules& rules,
                                                                  absl::Time now,
                                                                  std::vector<std::string>* signer = nullptr) const = 0;

  // Checks that a client's chain, in PEM with its own certificate first, leads to one of these authorities at `now`.
  // UNAUTHENTICATED states why it does not.
  virtual absl::Status VerifyClient(std::string_view chain_pem, absl::Time now) const = 0;
};

// Returns the SHA-256 of the text, 32 bytes.
std::string DigestOf(std::string_view text);

// Returns 32 bytes that are the same for all tokens of one user with the same groups, whenever they were issued, and
// different for any other user. Ignores the signer of the token.
std::string DigestOfUser(std::string_view token);

// Returns the user's line in the list of denied identities: "user:ann@example.com", with each byte that is no letter,
// no digit and none of "-._~@:" as %XX.
std::string UriOfUser(std::string_view user);

}  // namespace basalt::identity
