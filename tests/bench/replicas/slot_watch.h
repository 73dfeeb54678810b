#pragma once

// Who has each slot of jobsvc, asked of all gateways again and again: for how long a slot was without an owner.
//
// A slot is without an owner from the last answer that showed it open at one replica until the first that shows it open
// at one again, as the gateway that leads tells it: too long by the time between two answers, at most. Open means that
// the owner's writes pass, and that what it is to know of the slot is on its way to it, records included. Where no
// gateway that leads answers for a quarter of a second, no slot has an owner meanwhile.
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
  bool moved = false;  // To another replica.
};

// Any thread.
class SlotWatch {
 public:
  using Channels = std::vector<std::shared_ptr<grpc::Channel>>;
  // Asks from here on. `gateways` gives a channel to each of them, and is called on the watch's own thread: first, and
  // whenever none of those of before leads.
  explicit SlotWatch(std::function<Channels()> gateways);
  ~SlotWatch();

  std::vector<Gap> Take() BASALT_EXCLUDES(mutex_);  // Since it was last asked.
  // As of the last answer: all slots are open, at so many replicas.
  bool AllOpenAt(int replicas) BASALT_EXCLUDES(mutex_);
  std::string Summary() BASALT_EXCLUDES(mutex_);        // Of the last answer, for whoever waits in vain.
  absl::Time last() BASALT_EXCLUDES(mutex_);            // When the gateway that leads answered last.
  std::string leader() BASALT_EXCLUDES(mutex_);         // Name of the gateway; empty: none leads.
  absl::Duration resolution() BASALT_EXCLUDES(mutex_);  // The longest between two answers of one leader.

 private:
  struct Slot {
    std::string replica;                     // That had it last.
    absl::Time open = absl::InfinitePast();  // When it was seen open last.
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
