#pragma once

// Signs and verifies what a gateway says of a user of Kubernetes (proto/basalt/gateway/v1/user.proto). Any thread.
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

// gRPC's bound of all metadata of a call is 8 KiB: what is left is for the path, the deadline and the host.
inline constexpr size_t kMostUserTokenBytes = 5 << 10;

inline constexpr absl::Duration kLongestUserToken = absl::Minutes(10);

// A serialized UserToken. `signer`: the gateway's own certificate, with the chain up to its authority, and its key.
// INVALID_ARGUMENT: certificate or key cannot be read, or they do not belong together. FAILED_PRECONDITION: the user
// has so many groups that the token has more than kMostUserTokenBytes. INTERNAL: OpenSSL refuses.
absl::StatusOr<std::string> SignUserToken(const gateway::v1::UserClaims& claims, const KeyPair& signer);

// The authorities of a suite, of which its tokens and certificates come.
class Authorities {
 public:
  // INVALID_ARGUMENT: no certificate in the text, or one that cannot be read.
  static absl::StatusOr<std::shared_ptr<const Authorities>> FromPem(std::string_view pem);
  virtual ~Authorities() = default;

  // What the token says. The certificates have to lead from a gateway of `rules` to one of these authorities at `now`,
  // the signature has to be the gateway's, and the token's time must not be over; clocks may differ by a minute.
  // A token of more than kLongestUserToken is none. UNAUTHENTICATED says which of it does not hold. `signer`, where it
  // is not null, gets the URIs of the gateway's certificate.
  virtual absl::StatusOr<gateway::v1::UserClaims> VerifyUserToken(std::string_view token, const IdentityRules& rules,
                                                                  absl::Time now,
                                                                  std::vector<std::string>* signer = nullptr) const = 0;

  // Whether a client's chain, its own certificate first, in PEM, leads to one of these authorities at `now`.
  // UNAUTHENTICATED says why it does not.
  virtual absl::Status VerifyClient(std::string_view chain_pem, absl::Time now) const = 0;
};

// SHA-256 of the text: 32 bytes.
std::string DigestOf(std::string_view text);

// 32 bytes that are the same for all tokens of one user with the same groups, whenever they were issued, and different
// for any other user. Whoever has signed the token is not looked at.
std::string DigestOfUser(std::string_view token);

// How the user stands in the list of denied identities: "user:ann@example.com", with what is no letter, digit or one of
// "-._~@:" as %XX.
std::string UriOfUser(std::string_view user);

}  // namespace basalt::identity
