#pragma once

// Names to addresses.
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "common/discovery/gateway_names.h"
#include "common/exec/loop.h"

namespace basalt::discovery {

// Every address that `name` has by the system's resolver, each once and sorted: host:port with a number for a host.
// Blocks, for as long as resolv.conf lets it. UNAVAILABLE says why there is none.
absl::StatusOr<std::vector<std::string>> LookUp(const HostPort& name);

class Resolver {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<std::vector<std::string>>)>;
  virtual ~Resolver() = default;  // Nothing is called back after it.
  // As LookUp; `done` on the loop that the resolver was made for, never before this returns.
  virtual void Resolve(HostPort name, Done done) = 0;
};

// Looks up on a thread of its own, one name after the other. Used and destroyed on `loop`, or when that is over; waits
// then for a lookup that is under way.
std::unique_ptr<Resolver> MakeSystemResolver(Loop& loop);

}  // namespace basalt::discovery
