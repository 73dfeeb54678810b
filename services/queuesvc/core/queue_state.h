#pragma once

// The state machine of a queue (queue spec 5) and the counts of its pod groups. Pure.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/queue/v1/queue.pb.h"

namespace basalt::queuesvc {

enum class QueueState { kEmpty, kOpen, kClosed, kClosing, kUnknown, kInvalid };
enum class QueueAction { kSync, kOpen, kClose };
enum class QueueOperation { kSync, kOpen, kClose };

QueueState ParseQueueState(std::string_view text);
std::string_view FormatQueueState(QueueState state);

struct QueueTransition {
  QueueOperation operation;
  QueueState next;
};

// The cell of queue spec 5 for a queue in `state` that holds `pod_groups`. Requires: state is not kInvalid.
QueueTransition NextState(QueueState state, QueueAction action, int64_t pod_groups);

// The pod groups of one queue, counted as they come and go: O(log n) per change, never a recount.
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

// The body of the server-side apply that publishes state and counts (queue spec 6.1-6, decision 2 of the spec README).
std::string StatusApplyBody(std::string_view queue, QueueState state, const queue::v1::PodGroupCounts* counts);

// Whether the queue's status already says what would be applied.
bool StatusDiffers(const kube::v1::Queue& queue, QueueState state, const queue::v1::PodGroupCounts* counts);

}  // namespace basalt::queuesvc
