#pragma once

// Chooses the gateway that a client tries next: one of several leads, and only a gateway that is called names the
// leader. Decides and looks names up; makes no connections. Confined to one loop.
//
// The addresses stand in a ring, in the order of the flag. Names that stand for many are looked up before the first
// attempt and again while attempts fail, at most every kLookUpAgain. The last addresses that were found count as long
// as lookups fail. After an attempt that failed with the leader's address, the leader is next, out of turn. If that
// attempt fails, too, the ring goes on.
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

  // Requires: `names` is not empty; `resolver` calls back on `loop`. It may be null if no name stands for many.
  GatewayRing(Loop& loop, std::vector<GatewayName> names, std::unique_ptr<Resolver> resolver);
  ~GatewayRing();
  GatewayRing(const GatewayRing&) = delete;
  GatewayRing& operator=(const GatewayRing&) = delete;

  // Returns the address to try. Nullopt if no address is known; Await() reports when that changes.
  std::optional<std::string> Current() const;

  // The attempt at Current() has failed. `leader` is the leader's address as the tried gateway knows it; may be empty.
  void Failed(std::string_view leader);

  // Calls `then` with OK once an address is known, or with UNAVAILABLE, which names flag, value and reason, if no name
  // could be looked up; a later Await looks up again. `then` is called neither before Await returns nor after the ring
  // is gone. Requires: Current() is nullopt.
  void Await(absl::AnyInvocable<void(const absl::Status&)> then);

 private:
  struct Known {
    GatewayName name;
    std::vector<std::string> addresses;
    absl::Status error;  // The result of the last lookup.
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
  std::string leader_;  // The address to try out of turn. Empty if ring_[at_] is next.
  size_t under_way_ = 0;
  absl::Time looked_up_ = absl::InfinitePast();
  std::vector<absl::AnyInvocable<void(const absl::Status&)>> waiting_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  const std::unique_ptr<Resolver> resolver_;
};

}  // namespace basalt::discovery
