#pragma once

// The Lease by which gateways settle who leads, as text and as values. Pure.
//
// The holder's name is "basalt-gateway/<replica>/<incarnation>": a name for the place and one for the process in it.
// Whoever holds it also says in the annotation basalt.io/address where its gRPC server listens, and in basalt.io/wait
// how long it has to wait before it writes, as long as it has not: whoever takes the Lease from it owes that, too.
// Whatever else stands in the object (labels, owners, fields of newer servers) is kept on every write.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/json.h"

namespace basalt::gateway {

inline constexpr std::string_view kHolderPrefix = "basalt-gateway/";
inline constexpr std::string_view kAddressAnnotation = "basalt.io/address";
inline constexpr std::string_view kWaitAnnotation = "basalt.io/wait";

struct Holder {
  std::string replica;
  std::string incarnation;
  bool operator==(const Holder&) const = default;
};

std::string IdentityOf(const Holder& holder);
// Nullopt: it is not one of ours.
std::optional<Holder> ParseIdentity(std::string_view identity);

struct Lease {
  std::string identity;     // Empty = released.
  std::string address;      // As annotated; empty where there is none.
  absl::Duration wait;      // As annotated.
  absl::Duration duration;  // Zero where the lease names none.
  std::string renewed;      // renewTime as it stands there.
  int64_t transitions = 0;
  // Two observations with the same mark: nobody has renewed between them.
  std::string mark;
  json::value object;  // As it was read, with its resourceVersion.

  std::optional<Holder> holder() const { return ParseIdentity(identity); }
  // Given back by its holder, or never held by one of ours; `wait` is still owed.
  bool free() const { return identity.empty() && address.empty(); }
};

// INVALID_ARGUMENT, with the field, where it is no Lease or cannot be understood.
absl::StatusOr<Lease> ParseLease(std::string_view body);

// What is to be written: whole objects, for POST and PUT.
struct LeaseClaim {
  std::string identity;
  std::string address;
  absl::Duration duration;
  absl::Time now;  // By our own clock, which nobody compares with theirs.
  absl::Duration wait;
};
std::string NewLease(std::string_view ns, std::string_view name, const LeaseClaim& claim);
// Another holder than before: one transition more.
std::string TakenLease(const Lease& lease, const LeaseClaim& claim);
std::string RenewedLease(const Lease& lease, const LeaseClaim& claim);
// Nobody holds it; what is still owed stays.
std::string ReleasedLease(const Lease& lease, absl::Time now, absl::Duration wait);

// renewTime as these write it.
std::string RenewTime(absl::Time now);

}  // namespace basalt::gateway
