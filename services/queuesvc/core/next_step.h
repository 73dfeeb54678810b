#pragma once

// Decides the next step for a queue from the observed state: the queue, its pod groups, its parent and the Command
// whose turn it is. Each pass derives the step anew. A write whose answer was lost, or that came too late, therefore
// needs no special case: the next pass looks at the queue again. A cascade through the hierarchy follows from the
// states of parent and child, whoever caused them (queue spec 5, 6). Pure.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/queue/v1/queue.pb.h"
#include "services/queuesvc/core/queue_state.h"

namespace basalt::queuesvc {

// Views of data that the caller keeps.
struct QueueFacts {
  std::string_view name;
  const kube::v1::Queue* queue = nullptr;  // Null if there is no queue of that name.
  // Null if the parent does not exist, if it is a descendant of this queue (a circle), or if this queue is root.
  const kube::v1::Queue* parent = nullptr;
  const kube::v1::Command* command = nullptr;  // The oldest; null if there is none.
  int64_t command_tried_ms = 0;                // When a pass first considered `command`.
  bool is_recorded = false;                    // The outcome of `command` is recorded.
  bool is_superseded = false;                  // A newer command waits behind `command`.
  int64_t now_ms = 0;                          // The API server's clock.
  bool is_made = false;                        // The queue is created if it is missing (queue spec 2.1).
  bool is_refused = false;    // The API server has refused a write to the queue, and the refusal lasts.
  bool parent_waits = false;  // A write of the parent was refused, and its next try is not due yet.
  int64_t pod_groups = 0;
  // The counts that the status must have; null if counts are not published.
  const queue::v1::PodGroupCounts* counts = nullptr;
};

struct QueueStep {
  enum class Kind {
    kNothing,
    kInvalid,  // Does nothing: the state is none of the specification's (queue spec 4.2).
    kCreate,
    kSetParent,
    kApplyState,
    kApplyCounts,        // Names no version, so that a concurrent change of the state is no conflict.
    kSetClosedByParent,  // Sets the annotation volcano.sh/closed-by-parent (queue spec 6.5).
    kEndCommand,         // Records the outcome of the Command, then deletes the Command.
  };
  Kind kind = Kind::kNothing;
  QueueState state = QueueState::kEmpty;  // For kApplyState: the new state.
  bool closed_by_parent = false;          // For kSetClosedByParent: the new value.
  // A text for people. For kNothing and kApplyCounts: what the Command waits for. For kEndCommand: the outcome of the
  // Command. Else: why the state changes.
  std::string cause = {};
  bool is_refused = false;  // For kEndCommand: the Command cannot be carried out.
};

// A command waits for a queue that does not exist (queues and Commands have separate watches), or for a parent that is
// closed, until kCommandWaitsMs after its creation and, for the sake of outages, until kTriedCommandWaitsMs after a
// pass first considered it. The command is refused after that.
inline constexpr int64_t kCommandWaitsMs = 30'000;
inline constexpr int64_t kTriedCommandWaitsMs = 5'000;
inline int64_t CommandWaitsUntilMs(int64_t creation_ms, int64_t tried_ms) {
  return std::max(creation_ms + kCommandWaitsMs, tried_ms + kTriedCommandWaitsMs);
}

QueueStep NextStep(const QueueFacts& facts);

// Returns the value of the annotation volcano.sh/closed-by-parent; empty if the queue does not have it.
std::string_view ClosedByParent(const kube::v1::Queue& queue);

// Whether a Command waits while a step of this kind is the next.
inline bool LetsCommandWait(QueueStep::Kind kind) {
  return kind == QueueStep::Kind::kNothing || kind == QueueStep::Kind::kApplyCounts;
}
// Whether a step of this kind writes the status.
inline bool IsOfStatus(QueueStep::Kind kind) {
  return kind == QueueStep::Kind::kApplyState || kind == QueueStep::Kind::kApplyCounts;
}

// Whether the write of a step of this kind names the version of the queue.
inline bool NamesVersion(QueueStep::Kind kind) {
  return kind == QueueStep::Kind::kApplyState || kind == QueueStep::Kind::kSetParent;
}

// Whether `answer`, the API server's answer to the write of the step, has the values that were written. A definition
// that does not know a field drops the value silently, and a policy may do so, too. `counts` are those that were
// written, if any.
bool IsKept(const QueueStep& step, const queue::v1::PodGroupCounts& counts, const kube::v1::Queue& answer);
// Returns the fields of the queue that the step writes, as messages to people name them.
std::string_view WrittenBy(const QueueStep& step);

}  // namespace basalt::queuesvc
