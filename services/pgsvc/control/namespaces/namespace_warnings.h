#pragma once

// Warns people by Events: on a pod that lacks an object or its group, on a pod or group with another problem, and on
// Kartas that cannot be used. Confined to the worker's loop.
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/reconcile/slot_map.h"
#include "common/runtime/controller.h"
#include "common/runtime/events/event_recorder.h"
#include "services/pgsvc/control/namespaces/namespace_state.h"
#include "services/pgsvc/control/namespaces/pod_grouper.h"

namespace basalt::pgsvc {

class NamespaceWarnings {
 public:
  // How long a pod may lack its owner or group without a warning. An owner is gone some time before its pods, and
  // objects that are made together may arrive at different times.
  static constexpr absl::Duration kMissingGrace = absl::Seconds(30);
  // How many pods get an Event of one problem at most.
  static constexpr size_t kMostReported = 10;
  // How many problems with an Event are remembered for one pod.
  static constexpr size_t kMostProblems = 10;
  // The reason of the Event on a pod whose group is missing.
  static constexpr std::string_view kGroupMissing = "PodGroupMissing";

  // All references outlive this object.
  NamespaceWarnings(runtime::Context& context, PodGrouper& grouper, const SlotMap<NamespaceState>& namespaces);

  // Records a warning Event on the pod, unless kMostReported other pods have an Event of that problem.
  void RecordOnPod(NamespaceState& space, const kube::v1::Pod& pod, std::string_view reason, std::string_view message);
  // Does the same on the group's first active member, or else on the first active pod that names the group.
  void RecordOnGroup(NamespaceState& space, const std::string& name, const GroupState& group, std::string_view reason,
                     std::string_view message);
  // Forgets the problems of a pod that is gone.
  static void Forget(NamespaceState& space, const PodState& pod, const std::string& uid);

  // Notes an object or group that the pod lacks. An Event of that reason reports it if it lasts.
  void NoteMissing(NamespaceState& space, const kube::v1::Pod& pod, std::string_view reason, std::string why);
  // Warns the pods that have lacked something for kMissingGrace.
  void WarnOfMissing(NamespaceState& space);
  // Warns of a problem of the group's queue that lasts.
  void CheckQueue(NamespaceState& space, const std::string& name, GroupState& group);

 private:
  // Reads the group that the pod names, since this worker does not get all groups, and warns if it does not exist. Pods
  // that wait for one group share one read.
  void LookForGroup(NamespaceState& space, const kube::v1::Pod& pod);
  void OnLookup(NamespaceState& space, const std::string& name, const absl::StatusOr<gateway::v1::GetResponse>& answer);
  // Has the missing group made that the pod names. Returns false if somebody else makes the group, or if the rules
  // would make no other group for the pod.
  bool MakeAgain(NamespaceState& space, const kube::v1::Pod& pod);
  runtime::ObjectEvents* EventsOf(const std::string& key, const std::string& uid) const;
  static void ForgetProblem(NamespaceState& space, const std::string& problem, const std::string& uid);

  runtime::Context& context_;
  PodGrouper& grouper_;
  const SlotMap<NamespaceState>& namespaces_;
  runtime::EventRecorder recorder_;
};

}  // namespace basalt::pgsvc
