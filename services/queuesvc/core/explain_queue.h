#pragma once

// Why a queue is in its state, for people: who brought it there, what it waits for, and what can be done. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/queue/v1/queue.pb.h"
#include "basalt/storage/v1/queue_record.pb.h"
#include "services/queuesvc/core/next_step.h"
#include "services/queuesvc/core/queue_rules.h"

namespace basalt::queuesvc {

// Views of what the caller has.
struct ExplainFacts {
  const kube::v1::Queue& queue;
  const kube::v1::Queue* parent = nullptr;  // As of QueueFacts.
  bool is_below_itself = false;
  std::string circle = {};  // Of is_below_itself: as CircleText has it.
  // What somebody has to open, in this order, so that the queue is open: the highest of the closed queues above it, and
  // of those below that one, down to the queue itself, each that is not opened with its parent. Empty: the parent is
  // not closed.
  std::vector<std::string> to_open;
  const QueueStep& step;                       // Of the last pass.
  const kube::v1::Command* command = nullptr;  // The oldest.
  std::vector<QueueProblem> problems;          // Of its spec.
  int64_t pod_groups = 0;
  const storage::v1::QueueRecord* record = nullptr;             // Null: nothing is recorded.
  const storage::v1::QueueHistoryRecord* entered_by = nullptr;  // The entry that tells of its state; null: it is lost.
};

// Summary and causes; the other members are the caller's.
queue::v1::QueueExplanation ExplainQueue(const ExplainFacts& facts);

}  // namespace basalt::queuesvc
