#pragma once

// The Lease by which gateways elect their leader, as text and as values. Pure.
//
// The holder's name is "basalt-gateway/<replica>/<incarnation>": the replica names the place, the incarnation the
// process in it. The holder also writes two annotations. basalt.io/address is where its gRPC server listens.
// basalt.io/wait is how long the holder must wait before it writes, as long as it has not waited: a process that takes
// the Lease from it owes that wait, too. Every write keeps the rest of the object (labels, owners, fields of newer
// servers).
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/json.h"

namespace basalt::gateway {

inline constexpr std::string_view kHolderPrefix = "basalt-gateway/";
// This annotation of the gateways' Lease has the address at which the gRPC port of the holder listens.
inline constexpr std::string_view kAddressAnnotation = "basalt.io/address";
// This annotation of the gateways' Lease has the time that the holder, or the next one, must still wait before it
// writes.
inline constexpr std::string_view kWaitAnnotation = "basalt.io/wait";

struct Holder {
  std::string replica;
  std::string incarnation;
  bool operator==(const Holder&) const = default;
};

std::string IdentityOf(const Holder& holder);
// Returns nullopt if the identity is not one of ours.
std::optional<Holder> ParseIdentity(std::string_view identity);

struct Lease {
  std::string identity;     // Empty if the Lease is released.
  std::string address;      // As annotated; empty if there is no annotation.
  absl::Duration wait;      // As annotated.
  absl::Duration duration;  // Zero if the Lease names none.
  std::string renewed;      // The text of renewTime.
  int64_t transitions = 0;
  // If two observations have the same mark, nobody has renewed the Lease between them.
  std::string mark;
  json::value object;  // The object as it was read, with its resourceVersion.

  std::optional<Holder> holder() const { return ParseIdentity(identity); }
  // The holder gave the Lease back, or none of ours ever held it. `wait` is still owed.
  bool free() const { return identity.empty() && address.empty(); }
};

// INVALID_ARGUMENT, with the field, if the body is no Lease or cannot be understood.
absl::StatusOr<Lease> ParseLease(std::string_view body);

// The values to write. The functions below return whole objects, for POST and PUT.
struct LeaseClaim {
  std::string identity;
  std::string address;
  absl::Duration duration;
  absl::Time now;  // Our own clock, which nobody compares with another one.
  absl::Duration wait;
};
std::string NewLease(std::string_view ns, std::string_view name, const LeaseClaim& claim);
// The holder is another one than before, which counts as one transition more.
std::string TakenLease(const Lease& lease, const LeaseClaim& claim);
std::string RenewedLease(const Lease& lease, const LeaseClaim& claim);
// The Lease has no holder; the wait that is still owed stays.
std::string ReleasedLease(const Lease& lease, absl::Time now, absl::Duration wait);

// Returns renewTime as these functions write it.
std::string RenewTime(absl::Time now);

}  // namespace basalt::gateway
