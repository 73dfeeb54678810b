#pragma once

// Explains to people why a queue is in its state: who brought it there, what it waits for, and what can be done. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/queue/v1/queue.pb.h"
#include "basalt/storage/v1/queue_record.pb.h"
#include "services/queuesvc/core/next_step.h"
#include "services/queuesvc/core/queue_rules.h"

namespace basalt::queuesvc {

// Views of data that the caller keeps.
struct ExplainFacts {
  const kube::v1::Queue& queue;
  const kube::v1::Queue* parent = nullptr;  // See QueueFacts::parent.
  bool is_below_itself = false;
  std::string circle = {};  // The text of CircleText; set if is_below_itself.
  // The queues that somebody has to open, in this order, before this queue is open. They are the highest of the closed
  // queues above it and, from there down to the queue itself, each that is not opened with its parent. Empty if the
  // parent is not closed.
  std::vector<std::string> to_open;
  const QueueStep& step;                       // The step of the last pass.
  const kube::v1::Command* command = nullptr;  // The oldest; null if there is none.
  std::vector<QueueProblem> problems;          // Problems of its spec.
  int64_t pod_groups = 0;
  const storage::v1::QueueRecord* record = nullptr;             // Null if nothing is recorded.
  const storage::v1::QueueHistoryRecord* entered_by = nullptr;  // The entry of the present state; null if it is lost.
};

// Fills summary and causes; the caller fills the other members.
queue::v1::QueueExplanation ExplainQueue(const ExplainFacts& facts);

}  // namespace basalt::queuesvc
