#pragma once

// What is to be done of a queue next, from what is there: the queue, its pod groups, its parent and the Command that
// asks for something. Derived anew in each pass: a write whose answer is lost, or that came too late, is simply looked
// at once more, and a cascade through the hierarchy follows from the states of parent and child, whoever has brought
// them about (queue spec 5, 6). Pure.
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
  const kube::v1::Queue* parent = nullptr;     // Null: there is none, or it is below the queue itself.
  const kube::v1::Command* command = nullptr;  // The oldest; null: there is none.
  bool is_recorded = false;                    // What became of the command is.
  bool is_superseded = false;                  // A newer command waits behind it.
  int64_t now_ms = 0;                          // The API server's clock.
  bool is_made = false;                        // One that is missing is made (queue spec 2.1).
  bool is_refused = false;                     // The API server has refused the last write of the queue.
  int64_t pod_groups = 0;
  const queue::v1::PodGroupCounts* counts = nullptr;  // What the status is to say; null: nothing of counts.
};

struct QueueStep {
  enum class Kind {
    kNothing,
    kInvalid,  // Nothing: the state is none that there is (queue spec 4.2).
    kCreate,
    kSetParent,
    kApplyStatus,
    kSetClosedByParent,  // The annotation volcano.sh/closed-by-parent (queue spec 6.5).
    kEndCommand,         // What became of the Command is recorded, and the Command deleted.
  };
  Kind kind = Kind::kNothing;
  QueueState state = QueueState::kEmpty;  // Of kApplyStatus: what the status is to say.
  bool closed_by_parent = false;          // Of kSetClosedByParent.
  // For people: why the state changes, what became of the Command, or, of kNothing, what the Command waits for.
  std::string cause = {};
  bool is_refused = false;  // Of kEndCommand: it cannot be carried out.
};

// For so long after it was made a command waits for a queue that is not there (the watches of both are not one), or for
// a parent that is closed; then it is refused.
inline constexpr int64_t kCommandWaitsMs = 30'000;

QueueStep NextStep(const QueueFacts& facts);

}  // namespace basalt::queuesvc
