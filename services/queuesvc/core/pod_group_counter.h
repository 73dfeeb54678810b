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

// The pod groups of one queue, counted as they come and go: O(1) per change, never a recount. Kept small and side by
// side, so that a change in a large queue does not wait for memory more often than one in a small queue. Pure.
class PodGroupCounter {
 public:
  // The newest phase of a group, which has that name: "<namespace>/<name>". True when a count changed.
  bool Set(std::string_view uid, std::string_view name, std::string_view phase);
  bool Erase(std::string_view uid);
  int64_t total() const { return static_cast<int64_t>(groups_.size() + others_.size()); }
  // The first `most` in the order of names. O(n): not for what runs per event.
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

  absl::flat_hash_map<Uuid, Group> groups_;         // By the UID's 128 bits: a UID of Kubernetes is a UUID.
  absl::flat_hash_map<std::string, Group> others_;  // By a UID that is none.
  queue::v1::PodGroupCounts counts_;
};

}  // namespace basalt::queuesvc
