#pragma once

// The work under way for one job, in parts. Each part belongs to one concern of the controller, and is lost with the
// process on purpose. Assigning a fresh part resets it: nothing of an earlier job of the same name stays. Lives on the
// controller's loop.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/history/entries.h"
#include "common/reconcile/retry.h"
#include "services/jobsvc/control/actions/command_cleanup.h"
#include "services/jobsvc/control/cluster/forwarding.h"
#include "services/jobsvc/control/group/group_changes.h"
#include "services/jobsvc/control/group/group_sync.h"
#include "services/jobsvc/control/history/ttl_deletion.h"
#include "services/jobsvc/control/objects/claims.h"
#include "services/jobsvc/control/objects/plugin_objects.h"
#include "services/jobsvc/control/pods/bulk_delete.h"
#include "services/jobsvc/control/pods/pod_creates.h"
#include "services/jobsvc/control/pods/pod_writes.h"
#include "services/jobsvc/control/status/newest_status.h"
#include "services/jobsvc/control/status/status_commit.h"
#include "services/jobsvc/core/decide/decide.h"
#include "services/jobsvc/core/effects.h"
#include "services/jobsvc/core/explain/problems.h"

namespace basalt::jobsvc {

struct JobParts {
  StatusCommit commit;
  NewestStatus newest_status;
  PodWrites pod_writes;
  PodCreates pod_creates;
  BulkDelete bulk_delete;
  GroupSync group_sync;
  PluginObjects plugin_objects;
  Claims claims;
  CommandCleanup command_cleanup;
  TtlDeletion ttl;
  Forwarding forwarding;
  GroupChanges group_changes;
  Problems problems;                         // Refusals by Kubernetes or a plugin. Each ends as soon as a try succeeds.
  std::vector<PendingEvent> pending_events;  // Events that are still to be recorded.
  // UIDs of pods whose events are answered by the kill in the status. The next status write names them.
  std::vector<std::string> unreported_answered;
  history::EntryCount history_count;
};

}  // namespace basalt::jobsvc
