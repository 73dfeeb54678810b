#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "basalt/queue/v1/queue.pb.h"

namespace basalt::queuesvc {

// The pod groups of one queue, counted as they come and go: O(1) per change, never a recount. Pure.
class PodGroupCounter {
 public:
  // The newest phase of a group, which has that name: "<namespace>/<name>". True when a count changed.
  bool Set(const std::string& uid, std::string_view name, std::string_view phase);
  bool Erase(const std::string& uid);
  int64_t total() const { return static_cast<int64_t>(groups_.size()); }
  // The first `most` in the order of names. O(n): not for what runs per event.
  std::vector<std::string> Names(size_t most) const;
  const queue::v1::PodGroupCounts& counts() const { return counts_; }

 private:
  enum class Phase : uint8_t { kPending, kInqueue, kRunning, kUnknown, kCompleted, kOther };
  static Phase ParsePhase(std::string_view text);
  void Count(Phase phase, int delta);

  struct Group {
    Phase phase = Phase::kOther;
    std::string name;
  };

  std::unordered_map<std::string, Group> groups_;  // By UID.
  queue::v1::PodGroupCounts counts_;
};

}  // namespace basalt::queuesvc
