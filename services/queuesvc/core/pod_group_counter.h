#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "basalt/queue/v1/queue.pb.h"

namespace basalt::queuesvc {

// The pod groups of one queue, counted as they come and go: O(log n) per change, never a recount. Pure.
class PodGroupCounter {
 public:
  // The newest phase of a group. True when a count changed.
  bool Set(const std::string& uid, std::string_view phase);
  bool Erase(const std::string& uid);
  int64_t total() const { return static_cast<int64_t>(phases_.size()); }
  const queue::v1::PodGroupCounts& counts() const { return counts_; }

 private:
  enum class Phase : uint8_t { kPending, kInqueue, kRunning, kUnknown, kCompleted, kOther };
  static Phase ParsePhase(std::string_view text);
  void Count(Phase phase, int delta);

  std::map<std::string, Phase> phases_;
  queue::v1::PodGroupCounts counts_;
};

}  // namespace basalt::queuesvc
