#pragma once

// A stream of messages, read one at a time by the code that sends them on. Confined to one loop, except for the notice:
// `notify`, given to the constructor of the feed, is called on any thread when there may be a message or an end after
// Take found none. Destroying a feed ends its source; a notice may still come.
#include <optional>

#include "absl/status/status.h"

namespace basalt::rpc {

template <typename Message>
class Feed {
 public:
  virtual ~Feed() = default;
  // Returns false if there is no message at the moment, or never again (End). May be repeated. Requires: `message` is
  // empty.
  virtual bool Take(Message* message) = 0;
  // Returns how the feed ended. Call it only after Take has returned false.
  virtual std::optional<absl::Status> End() = 0;
  // Called from time to time (kTick), whether messages are read or not.
  virtual void Tick() {}
};

}  // namespace basalt::rpc
