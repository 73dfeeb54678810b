#pragma once

// The pod group controller: one per worker, confined to the worker's loop. The key is the group's namespace/name.
//
// It keeps nothing in the store. For a job's group it answers EnsurePodGroup from what it observes; for plain pods it
// makes the group and binds the pods, derived anew from state in every pass, so that a lost answer or a deleted group
// is simply looked at once more (weaknesses W2, W3).
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/reconcile/retry.h"
#include "common/reconcile/slot_map.h"
#include "common/rpc/peers.h"
#include "common/runtime/controller.h"
#include "common/runtime/events/event_recorder.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {

class PodGroupController : public runtime::Controller {
 public:
  // `context` outlives the controller.
  PodGroupController(runtime::Context& context, GroupingOptions options);
  ~PodGroupController() override;

  // See PodGroupService.EnsurePodGroup. UNAVAILABLE while the slot is not this worker's or not ready.
  void EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest request,
                      rpc::Done<podgroup::v1::EnsurePodGroupResponse> done);

  absl::StatusOr<std::vector<runtime::KnownObject>> OpenSlot(uint32_t slot) override;
  void CloseSlot(uint32_t slot) override;
  void OnState(std::string_view routing_key, const std::string& watch, kube::v1::Object&& object) override;
  void OnGone(std::string_view routing_key, const runtime::Gone& gone) override;
  void OnShared(const std::string& watch, const kube::v1::Object& object, bool gone) override;
  void Decide(std::string_view key, kv::WriteBatch& batch) override;
  void Act(std::string_view key) override;

 private:
  struct Waiter {
    podgroup::v1::EnsurePodGroupRequest request;
    rpc::Done<podgroup::v1::EnsurePodGroupResponse> done;
  };
  struct Group {
    std::unique_ptr<kube::v1::PodGroup> observed;
    std::map<std::string, kube::v1::Pod> pods;  // By UID: plain pods of this group.
    std::deque<Waiter> waiters;
    bool busy = false;                                        // A write or read of the group itself is under way.
    std::set<std::string> binding;                            // UIDs of pods whose patch is under way.
    std::map<std::string, int> refused;                       // Pods whose patch was refused: how often.
    std::map<std::string, runtime::ObjectEvents> pod_events;  // By UID: of pods that were told of a problem.
    Retry retry{{.first = absl::Milliseconds(200), .most = absl::Seconds(60)}};  // Weakness W9: capped.
  };

  void ServeWaiters(const std::string& key, Group& group);
  void ServePods(const std::string& key, Group& group);
  void MakeGroup(const std::string& key, Group& group, const kube::v1::Pod& pod);
  void CreateForPod(const std::string& key, Group& group, const kube::v1::Pod& pod,
                    const Annotations& owner_annotations);
  void Bind(const std::string& key, Group& group, const kube::v1::Pod& pod);
  void SendForWaiter(const std::string& key, Group& group, gateway::v1::WriteRequest request);
  void OnGroupWritten(const std::string& key, bool created, runtime::WriteOutcome outcome);
  void Refresh(const std::string& key);
  void TryLater(const std::string& key, Group& group);
  void Succeed(const std::string& key, Group& group);
  // Null: the pod is gone, or was told of nothing.
  runtime::ObjectEvents* EventsOf(const std::string& key, const std::string& pod_uid) const;
  void ReportOnPod(const std::string& key, Group& group, const kube::v1::Pod& pod, std::string_view message);
  static void Finish(Group& group, absl::StatusOr<podgroup::v1::EnsurePodGroupResponse> answer);
  void DropIfEmpty(const std::string& key);

  runtime::Context& context_;
  const GroupingOptions options_;
  SlotMap<Group> groups_;
  runtime::EventRecorder recorder_;
  std::set<std::string, std::less<>> failing_;                    // Keys of groups whose last try failed.
  std::map<std::string, std::string, std::less<>> queue_states_;  // By the queue's name.
};

}  // namespace basalt::pgsvc
