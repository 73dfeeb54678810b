#pragma once

// What is to be done of a queue next, from what is there: the queue, its pod groups, its parent and the Command that
// asks for something. Derived anew in each pass: a write whose answer is lost, or that came too late, is simply looked
// at once more, and a cascade through the hierarchy follows from the states of parent and child, whoever has brought
// them about (queue spec 5, 6). Pure.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/queue/v1/queue.pb.h"
#include "services/queuesvc/core/queue_state.h"

namespace basalt::queuesvc {

// Views of what the caller has.
struct QueueFacts {
  std::string_view name;
  const kube::v1::Queue* queue = nullptr;      // Null: there is none of that name.
  const kube::v1::Queue* parent = nullptr;     // Null: there is none, or it is below the queue itself; of root.
  const kube::v1::Command* command = nullptr;  // The oldest; null: there is none.
  int64_t command_tried_ms = 0;                // When somebody first looked at what is to be done of it.
  bool is_recorded = false;                    // What became of the command is.
  bool is_superseded = false;                  // A newer command waits behind it.
  int64_t now_ms = 0;                          // The API server's clock.
  bool is_made = false;                        // One that is missing is made (queue spec 2.1).
  bool is_refused = false;                     // The API server refuses something that is to be written of the queue.
  bool parent_waits = false;                   // A parent was refused, and is not to be tried again yet.
  int64_t pod_groups = 0;
  const queue::v1::PodGroupCounts* counts = nullptr;  // What the status is to say; null: nothing of counts.
};

struct QueueStep {
  enum class Kind {
    kNothing,
    kInvalid,  // Nothing: the state is none that there is (queue spec 4.2).
    kCreate,
    kSetParent,
    kApplyState,
    kApplyCounts,        // Whoever changes the state meanwhile is not in the way.
    kSetClosedByParent,  // The annotation volcano.sh/closed-by-parent (queue spec 6.5).
    kEndCommand,         // What became of the Command is recorded, and the Command deleted.
  };
  Kind kind = Kind::kNothing;
  QueueState state = QueueState::kEmpty;  // Of kApplyState: what the status is to say.
  bool closed_by_parent = false;          // Of kSetClosedByParent.
  // For people: why the state changes, what became of the Command, or, of kNothing and kApplyCounts, what the Command
  // waits for.
  std::string cause = {};
  bool is_refused = false;  // Of kEndCommand: it cannot be carried out.
};

// For so long after it was made a command waits for a queue that is not there (the watches of both are not one), or for
// a parent that is closed; after an outage for so long from when somebody first looked at it. Then it is refused.
inline constexpr int64_t kCommandWaitsMs = 30'000;
inline constexpr int64_t kTriedCommandWaitsMs = 5'000;
inline int64_t CommandWaitsUntilMs(int64_t creation_ms, int64_t tried_ms) {
  return std::max(creation_ms + kCommandWaitsMs, tried_ms + kTriedCommandWaitsMs);
}

QueueStep NextStep(const QueueFacts& facts);

// The annotation volcano.sh/closed-by-parent; empty: it is not there.
std::string_view ClosedByParent(const kube::v1::Queue& queue);

// Whether a Command that is there waits while such a step is the next.
inline bool LetsCommandWait(QueueStep::Kind kind) {
  return kind == QueueStep::Kind::kNothing || kind == QueueStep::Kind::kApplyCounts;
}
// Whether such a step writes the status.
inline bool IsOfStatus(QueueStep::Kind kind) {
  return kind == QueueStep::Kind::kApplyState || kind == QueueStep::Kind::kApplyCounts;
}

// Whether the write of such a step names the version of the queue.
inline bool NamesVersion(QueueStep::Kind kind) {
  return kind == QueueStep::Kind::kApplyState || kind == QueueStep::Kind::kSetParent;
}

// Whether `answer`, which the API server gave to the write of the step, has what was asked for. A definition that does
// not know a field drops it without a word, and so may a policy. `counts`: those that were written, if any.
bool IsKept(const QueueStep& step, const queue::v1::PodGroupCounts& counts, const kube::v1::Queue& answer);
// The fields of the queue that the step writes, as messages to people name them.
std::string_view WrittenBy(const QueueStep& step);

}  // namespace basalt::queuesvc
