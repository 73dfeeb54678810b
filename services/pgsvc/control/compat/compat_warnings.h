#pragma once

// Warns people by Events on the plain pods of the compat profile: on pods that wait for a missing group, on pods whose
// group cannot be made or linked, and on pods whose queue places nothing. Confined to the worker's loop.
#include <set>
#include <string>
#include <string_view>

#include "common/reconcile/slot_map.h"
#include "common/runtime/controller.h"
#include "common/runtime/events/event_recorder.h"
#include "services/pgsvc/control/compat/compat_group.h"
#include "services/pgsvc/control/namespaces/dependents.h"
#include "services/pgsvc/control/queue_index.h"

namespace basalt::pgsvc {

class CompatWarnings {
 public:
  // All references outlive this object.
  CompatWarnings(runtime::Context& context, const QueueIndex& queues, const SlotMap<CompatGroup>& groups);

  // Returns true if the warning is the first of its series.
  bool RecordOnPod(const std::string& scope, CompatGroup& group, const kube::v1::Pod& pod, std::string_view reason,
                   std::string_view message);
  // Records that the group cannot be made or linked, and logs the first warning of a series.
  void ReportOnPod(const std::string& scope, CompatGroup& group, const kube::v1::Pod& pod, std::string_view message);
  // Warns pods that have waited for a missing group for long.
  void ReportMissing(const GroupRef& ref, CompatGroup& group);
  // Warns of a problem of the group's queue that lasts.
  void CheckQueue(const GroupRef& ref, CompatGroup& group);
  // Returns why the queue of the group places nothing; empty if nothing known prevents it. Adds the names of the queues
  // that the answer depends on.
  std::string WhyQueuePlacesNothing(const kube::v1::PodGroup& group, std::set<std::string>& queues) const;
  // Returns the scopes whose queue was checked by the state of that queue.
  const std::set<std::string>& ScopesOn(const std::string& queue) const { return queue_dependents_.Of(queue); }
  // The scope moves to another replica.
  void Forget(const std::string& scope) { queue_dependents_.Set(scope, {}); }

 private:
  // Returns null if the pod is gone, or has no warning.
  runtime::ObjectEvents* EventsOf(const std::string& scope, const std::string& pod_uid) const;

  runtime::Context& context_;
  const QueueIndex& queues_;
  const SlotMap<CompatGroup>& groups_;
  Dependents queue_dependents_;  // The scopes that depend on each queue, by its name.
  runtime::EventRecorder recorder_;
};

}  // namespace basalt::pgsvc
