#pragma once

// The part of a group's state that all profiles share: its writes, and its published state. Each profile derives an
// entry of its own: compat/compat_group.h, namespaces/group_state.h. A value; confined to the loop of its owner.
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "common/reconcile/pace.h"
#include "common/reconcile/retry.h"
#include "common/runtime/watch/publisher.h"
#include "services/pgsvc/control/group_records.h"
#include "services/pgsvc/core/group_decision.h"
#include "services/pgsvc/core/queue_check.h"

namespace basalt::pgsvc {

// Names a group of this worker. `scope` is the routing key of the group and of its pods (group_scopes.h).
struct GroupRef {
  std::string scope;
  std::string name;
};

// The pods of one group that may have to be linked, by UID. A pod is linked once it names its group.
struct PodLinks {
  std::set<std::string> due;        // Pods that may need a patch.
  std::set<std::string> under_way;  // Pods whose patch was sent and is not answered yet.
};

// The patch by which one pod names its group.
struct PodLink {
  Retry retry{{.first = absl::Milliseconds(200), .most = absl::Seconds(60)}};
  Pace pace;            // Another program may undo the patch each time.
  std::string refusal;  // Why the API server has refused the patch; empty if it has not.
};

// The patches of the pods of one scope that are under way. Their number is limited, so that a group with many pods
// delays no other group.
struct ScopeLinks {
  static constexpr size_t kMostUnderWay = 64;
  size_t under_way = 0;
  std::set<std::string> waiting;  // Names of groups that have more due pods than the limit allows.
};

struct GroupEntry {
  // Moves `sent` out; returns an empty decision if there is none.
  GroupDecision TakeSent() { return std::exchange(sent, std::nullopt).value_or(GroupDecision()); }

  // ---- writes ----
  bool busy = false;  // Whether a write or a read for the group is under way. At most one is.
  // The decision behind the write under way, or behind the last write if its outcome is unknown.
  std::optional<GroupDecision> sent;
  std::string refusal;  // Why the API server has refused the last write; empty if it has not.
  Retry retry{{.first = absl::Milliseconds(200), .most = absl::Seconds(60)}};  // The back-off is capped (weakness W9).
  Pace creates;  // Another program may delete the group each time.
  Pace updates;  // Another program may restore an old value each time.
  // Since when the group holds resources for no pod; nullopt if it does not.
  std::optional<absl::Time> empty_since;
  PodLinks links;

  // ---- history and published state ----
  GroupRecord record;
  QueueProblem queue_problem;
  runtime::Shown published;
  // UID in the last published state. Empty if nothing is published, or if pods only wanted the group then.
  std::string published_uid;
  // Whether the group was published before the slot was opened, and is neither observed nor known to be gone since.
  bool is_awaited = false;
  // Whether the group was observed to go, and the end of its history is not recorded yet.
  bool is_gone = false;
};

}  // namespace basalt::pgsvc
