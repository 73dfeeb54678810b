#pragma once

// How far the watches of one service are, beside what a stream has told its replica of them. Confined to one loop.
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "basalt/gateway/v1/gateway.pb.h"
#include "gateway/route/cache.h"

namespace basalt::gateway {

class SentMarks {
 public:
  // `cache` outlives it.
  SentMarks(const Cache& cache, v1::ServiceKind service);

  // Whether the service uses that watch.
  bool Uses(WatchIndex watch) const { return watches_[watch].used; }
  // Every watch in use is listed, not served, or forbidden.
  bool Resolved() const;
  // Where the watches in use are now, in their order.
  std::vector<v1::Mark> Now() const;
  // Whether that differs from what was told.
  bool Moved() const;
  // The replica was told, or will be, that a watch it needs is forbidden.
  bool HeldBack() const;

  // `marks` go out as the end of a slot. One that ends forbidden waits for a Progress that says otherwise, also if the
  // other slots never heard of it.
  void NoteEnd(const std::vector<v1::Mark>& marks);
  // What of `marks` the replica does not know; it counts as told from here on. Nothing: it knows all of it.
  std::optional<v1::Progress> Advance(const std::vector<v1::Mark>& marks);

 private:
  struct Watch {
    bool used = false;
    int64_t resource_version = 0;
    v1::Mark::State state = v1::Mark::STATE_UNSPECIFIED;
  };

  const Cache& cache_;
  std::vector<Watch> watches_;  // As in the cache.
};

}  // namespace basalt::gateway
