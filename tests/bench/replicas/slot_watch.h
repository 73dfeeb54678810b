#pragma once

// Asks the gateways again and again for the owner of each slot of jobsvc, and measures for how long a slot was without
// an owner.
//
// A slot is without an owner from the last answer of the leading gateway that shows the slot open at a replica until
// the first later answer that shows the slot open at a replica again. The measured time is too long by at most the time
// between two answers. A slot is open when the gateway passes the owner's writes, and the slot's objects and records
// are on their way to the owner. While no leading gateway answers for a quarter of a second, no slot has an owner.
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/base/mutex.h"
#include "common/base/slots.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace basalt::bench {

struct Gap {
  uint32_t slot = 0;
  absl::Duration time;
  bool moved = false;  // The slot went to another replica.
};

// Thread-safe.
class SlotWatch {
 public:
  using Channels = std::vector<std::shared_ptr<grpc::Channel>>;
  // Starts to ask. `gateways` returns a channel to each gateway. It is called on the watch's own thread, first at the
  // start and then whenever none of the gateways of the last call leads.
  explicit SlotWatch(std::function<Channels()> gateways);
  ~SlotWatch();

  // Returns the gaps since the last call.
  std::vector<Gap> Take() BASALT_EXCLUDES(mutex_);
  // Whether the last answer shows all slots open, at so many replicas.
  bool AllOpenAt(int replicas) BASALT_EXCLUDES(mutex_);
  // Describes the last answer, for messages about a timeout.
  std::string Summary() BASALT_EXCLUDES(mutex_);
  absl::Time last() BASALT_EXCLUDES(mutex_);            // When the leading gateway answered last.
  std::string leader() BASALT_EXCLUDES(mutex_);         // The gateway that led last. Empty if none has answered yet.
  absl::Duration resolution() BASALT_EXCLUDES(mutex_);  // The longest time between two answers of one leader.

 private:
  struct Slot {
    std::string replica;                     // The replica that had the slot last.
    absl::Time open = absl::InfinitePast();  // When the slot was observed open last.
  };
  void Run(const std::function<Channels()>& gateways);
  void Note(const gateway::v1::Topology& topology, absl::Time now) BASALT_EXCLUDES(mutex_);

  std::atomic<bool> ending_ = false;
  Mutex mutex_;
  std::vector<Slot> slots_ BASALT_GUARDED_BY(mutex_) = std::vector<Slot>(kSlotCount);
  std::vector<Gap> gaps_ BASALT_GUARDED_BY(mutex_);
  std::string leader_ BASALT_GUARDED_BY(mutex_);
  absl::Time last_ BASALT_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Duration resolution_ BASALT_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace basalt::bench
