#pragma once

// A stream of messages that is taken from, one at a time, by whoever sends them on. Confined to one loop, but for the
// notice: `notify`, given where the feed is made, comes on any thread when there may be something to take, or the feed
// has ended, after Take found nothing. Destroying a feed ends what feeds it; a notice may still come.
#include <optional>

#include "absl/status/status.h"

namespace basalt::rpc {

template <typename Message>
class Feed {
 public:
  virtual ~Feed() = default;
  // False: nothing at the moment, or never again (End). Requires: `message` is empty.
  virtual bool Take(Message* message) = 0;
  // How it ended; only after Take found nothing.
  virtual std::optional<absl::Status> End() = 0;
  // From time to time (kTick), whether anything is taken or not.
  virtual void Tick() {}
};

}  // namespace basalt::rpc
