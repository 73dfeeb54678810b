#pragma once

// The marks of the watches of one service, now and as a stream last sent them to its replica. Confined to one loop.
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "basalt/gateway/v1/gateway.pb.h"
#include "gateway/route/cache.h"

namespace basalt::gateway {

class SentMarks {
 public:
  // `cache` must outlive this object.
  SentMarks(const Cache& cache, v1::ServiceKind service);

  // Whether the service uses that watch.
  bool Uses(WatchIndex watch) const { return watches_[watch].used; }
  // Whether every watch in use is listed, not served, or forbidden.
  bool Resolved() const;
  // Returns the present marks of the watches in use, in the watches' order.
  std::vector<v1::Mark> Now() const;
  // Whether the present marks differ from those that were sent.
  bool Moved() const;
  // Whether the replica was informed, or will be, that a watch which it needs is forbidden.
  bool HeldBack() const;

  // Records that `marks` go out as the end of a slot. A watch that ends forbidden waits for a Progress with another
  // state, even if the other slots never heard of it.
  void NoteEnd(const std::vector<v1::Mark>& marks);
  // Returns those of `marks` that the replica does not know; they count as sent from here on. Nullopt if the replica
  // knows all of them.
  std::optional<v1::Progress> Advance(const std::vector<v1::Mark>& marks);

 private:
  struct Watch {
    bool used = false;
    int64_t resource_version = 0;
    v1::Mark::State state = v1::Mark::STATE_UNSPECIFIED;
  };

  const Cache& cache_;
  std::vector<Watch> watches_;  // In the order of the cache's watches.
};

}  // namespace basalt::gateway
