#pragma once

// Resolves names to addresses.
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "common/discovery/gateway_names.h"
#include "common/exec/loop.h"

namespace basalt::discovery {

// Returns every address that the system's resolver has for `name`, each once and sorted, as host:port with a numeric
// host. Blocks for as long as resolv.conf allows. UNAVAILABLE states why there is no address.
absl::StatusOr<std::vector<std::string>> LookUp(const HostPort& name);

class Resolver {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<std::vector<std::string>>)>;
  virtual ~Resolver() = default;  // No `done` is called after the destructor.
  // Does as LookUp, and calls `done` on the loop that the resolver was made for, never before Resolve returns.
  virtual void Resolve(HostPort name, Done done) = 0;
};

// Returns a resolver that looks up on its own thread, one name after the other. It is used and destroyed on `loop`, or
// destroyed after the loop has ended. Its destructor waits for a lookup that is under way.
std::unique_ptr<Resolver> MakeSystemResolver(Loop& loop);

}  // namespace basalt::discovery
