#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "basalt/queue/v1/queue.pb.h"

namespace basalt::queuesvc {

// The pod groups of one queue, counted as they come and go: O(1) per change, without a recount. Entries are small and
// contiguous, so that a change in a large queue does not wait for memory more often than one in a small queue. Pure.
class PodGroupCounter {
 public:
  // Sets the newest phase of a group; `name` is "<namespace>/<name>". Returns whether the group is new or its phase
  // differs.
  bool Set(std::string_view uid, std::string_view name, std::string_view phase);
  bool Erase(std::string_view uid);
  int64_t total() const { return static_cast<int64_t>(groups_.size() + others_.size()); }
  // Returns the first `most` names in their order. O(n): not for code that runs per event.
  std::vector<std::string> Names(size_t most) const;
  const queue::v1::PodGroupCounts& counts() const { return counts_; }

 private:
  enum class Phase : uint8_t { kPending, kInqueue, kRunning, kUnknown, kCompleted, kOther };
  static Phase ParsePhase(std::string_view text);
  void Count(Phase phase, int delta);

  struct Group {
    Phase phase = Phase::kOther;
    std::unique_ptr<std::string> name;
  };
  using Uuid = std::pair<uint64_t, uint64_t>;

  template <typename Groups, typename Uid>
  bool SetIn(Groups& groups, const Uid& uid, std::string_view name, Phase phase);
  template <typename Groups, typename Uid>
  bool EraseIn(Groups& groups, const Uid& uid);

  absl::flat_hash_map<Uuid, Group> groups_;         // Keyed by the 128 bits of the UID: Kubernetes' UIDs are UUIDs.
  absl::flat_hash_map<std::string, Group> others_;  // Keyed by UIDs that are not UUIDs.
  queue::v1::PodGroupCounts counts_;
};

}  // namespace basalt::queuesvc
