#pragma once

// Which gateway is tried next: of several one leads, and nobody knows which until it is asked. Decisions and lookups;
// no connections. Confined to one loop.
//
// The addresses stand in a ring, in the order of the flag; names that stand for many are looked up before the first
// attempt and, while attempts fail, again, at most every kLookUpAgain. What was found last counts as long as a lookup
// fails. An attempt that failed with the leader's address is followed by one there, out of turn; if that fails too, the
// ring goes on.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/discovery/gateway_names.h"
#include "common/discovery/resolver.h"
#include "common/exec/loop.h"

namespace basalt::discovery {

class GatewayRing {
 public:
  static constexpr absl::Duration kLookUpAgain = absl::Seconds(3);

  // Requires: `names` is not empty; `resolver` is for `loop`, null where no name stands for many.
  GatewayRing(Loop& loop, std::vector<GatewayName> names, std::unique_ptr<Resolver> resolver);
  ~GatewayRing();
  GatewayRing(const GatewayRing&) = delete;
  GatewayRing& operator=(const GatewayRing&) = delete;

  // Whom to try. Nothing: no address is known; Await tells when that changes.
  std::optional<std::string> Current() const;

  // The attempt at Current() came to nothing. `leader`: who leads, as the one that was tried knows it; may be empty.
  void Failed(std::string_view leader);

  // Requires: there is no Current(). `then` with OK: there is one now. UNAVAILABLE names flag, value and reason: none
  // could be looked up, and a later Await tries again. Not before this returns; not after the ring is gone.
  void Await(absl::AnyInvocable<void(const absl::Status&)> then);

 private:
  struct Known {
    GatewayName name;
    std::vector<std::string> addresses;
    absl::Status error;  // Of the last lookup.
  };

  bool MayLookUp() const;
  void LookUpAll();
  void OnLookedUp(Known& known, absl::StatusOr<std::vector<std::string>> found);
  void Gather();
  absl::Status Errors() const;

  Loop& loop_;
  std::vector<Known> known_;
  std::vector<std::string> ring_;
  size_t at_ = 0;
  std::string leader_;  // Where an attempt out of turn goes; empty: to ring_[at_].
  size_t under_way_ = 0;
  absl::Time looked_up_ = absl::InfinitePast();
  std::vector<absl::AnyInvocable<void(const absl::Status&)>> waiting_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  const std::unique_ptr<Resolver> resolver_;
};

}  // namespace basalt::discovery
