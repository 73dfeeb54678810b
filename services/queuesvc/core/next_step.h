#pragma once

// What is to be done of a queue next, from what is there. Derived anew in each pass: a write whose answer is lost, or
// that came too late, is simply looked at once more. Pure.
#include <cstdint>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/queue/v1/queue.pb.h"
#include "services/queuesvc/core/queue_state.h"

namespace basalt::queuesvc {

// Views of what the caller has.
struct QueueFacts {
  std::string_view name;
  const kube::v1::Queue* queue = nullptr;  // Null: there is none of that name.
  bool is_made = false;                    // One that is missing is made (queue spec 2.1).
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
  };
  Kind kind = Kind::kNothing;
  QueueState state = QueueState::kEmpty;  // Of kApplyStatus: what the status is to say.
};

QueueStep NextStep(const QueueFacts& facts);

}  // namespace basalt::queuesvc
