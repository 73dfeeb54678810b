#pragma once

// One group as far as this process writes it and shows it to people, by whichever rules it is planned. A value;
// confined to the loop of its owner.
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

// Names a group of this worker. A scope is a routing key with all pods and groups of that key.
struct GroupRef {
  std::string scope;
  std::string name;
};

// The pods of one group that still have to name the group. UIDs.
struct PodLinks {
  std::set<std::string> due;
  std::set<std::string> under_way;  // Their patches are sent.
};

// The patch by which one pod names its group.
struct PodLink {
  Retry retry{{.first = absl::Milliseconds(200), .most = absl::Seconds(60)}};
  Pace pace;            // Somebody else may undo the patch each time.
  std::string refusal;  // Why the API server has refused the patch; empty if it has not.
};

// The patches of pods of one scope. Their number is bounded, so that a group with many pods holds up nobody else.
struct ScopeLinks {
  static constexpr size_t kMostUnderWay = 64;
  size_t under_way = 0;
  std::set<std::string> waiting;  // Names of groups that have more due pods than the bound allows.
};

struct GroupEntry {
  GroupDecision TakeSent() { return std::exchange(sent, std::nullopt).value_or(GroupDecision()); }

  // ---- writes ----
  bool busy = false;                  // A write or a read for the group is under way: at most one.
  std::optional<GroupDecision> sent;  // The reason of the write under way, or of the last one with an unknown outcome.
  std::string refusal;                // Why the API server has refused the last write; empty if it has not.
  Retry retry{{.first = absl::Milliseconds(200), .most = absl::Seconds(60)}};  // Weakness W9: capped.
  Pace creates;                           // Somebody else may delete the group each time.
  Pace updates;                           // Somebody else may put an old value back each time.
  std::optional<absl::Time> empty_since;  // The group has been without pods since then, and holds resources.
  PodLinks links;

  // ---- what people see ----
  GroupRecord record;
  QueueProblem queue_problem;
  runtime::Shown shown;
  std::string shown_uid;    // UID in the last published state; empty if pods only wanted the group then.
  bool is_awaited = false;  // Published before the slot was opened, and neither observed nor known to be gone since.
  bool is_gone = false;     // The group was observed to go; the end of its history has to be recorded.
};

}  // namespace basalt::pgsvc
