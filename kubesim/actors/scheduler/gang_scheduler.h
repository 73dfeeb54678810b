#pragma once

// A gang scheduler that behaves towards PodGroups, pods and queues as Volcano's does (podgroup spec 9, queue spec 2.1
// and 9): votes groups in, binds gangs whole or not at all, writes phases, counters, conditions and Events. A plain API
// client.
//
// Simplifications: queues are flat and limited by their capability alone (no weights, no reclaim, no preemption).
// Groups are scheduled in the order of their creation. Tainted nodes are not used, affinity is ignored, and
// status.allocated of queues is not written. An Event that equals the group's last one is not repeated.
#include <memory>
#include <set>
#include <string>

#include "kubesim/actors/client/api.h"
#include "kubesim/actors/scheduler/gang_status.h"
#include "kubesim/actors/scheduler/kai_gangs.h"
#include "kubesim/actors/scheduler/scheduler_cache.h"

namespace basalt::actors {

struct GangSchedulerOptions {
  std::set<std::string> scheduler_names = {"volcano"};
  // Pods of these schedulers are bound one by one. For clusters where no other scheduler binds them.
  std::set<std::string> plain_scheduler_names;
  // Names of KAI's schedulers. Their pods are bound one by one as well, once their groups allow it (kai_gangs.h).
  std::set<std::string> kai_scheduler_names;
  std::string default_queue = "default";
  bool create_queues = true;
  absl::Duration period = absl::Seconds(1);
  absl::Duration change_delay = absl::Milliseconds(50);  // The delay from a change to the next cycle.
  ApiOptions api;
};

// Confined to one loop. `pods` is an informer of all pods. Its owner starts it after this object has been constructed.
class GangScheduler {
 public:
  GangScheduler(Loop& loop, http::Client& client, Random& random, Informer& pods, GangSchedulerOptions options);
  ~GangScheduler();
  void Start();

  // Evicts a pod through the eviction subresource, as preemption does.
  void Evict(const std::string& space, const std::string& name);

  uint64_t cycles() const { return cycles_; }
  // Returns whether no cycle is due and no request is in flight.
  bool idle() const;

 private:
  void CreateQueues();
  void CreateQueue(const std::string& name, bool reclaimable);
  void Wake(absl::Duration delay);
  void Cycle();
  void Vote(Group& group, QueueInfo& queue);
  void Allocate(Group& group, QueueInfo& queue);
  void Close(Group& group);
  void BindPlain();
  // Returns a node on which the task fits. The search begins behind the node found last. Empty if no node fits; `why`
  // gets the reason.
  std::string Place(const Task& task, std::string* why);
  void Bind(Task& task);
  void Write(Group& group, json::object status);
  // Marks the group dirty again after one period.
  void Defer(const Group& group);
  // Sends an Event about the group, unless it equals `last`, the group's last Event of its sort.
  void SendEvent(Group& group, std::string& last, const GroupEvent& event);

  Loop& loop_;
  Random& random_;
  const GangSchedulerOptions options_;
  Api api_;
  SchedulerCache cache_;
  std::unique_ptr<KaiGangs> kai_gangs_;   // Null if there is no scheduler of KAI's.
  std::unique_ptr<Informer> kai_groups_;  // Null if there is no scheduler of KAI's.
  std::unique_ptr<Informer> groups_, queues_, nodes_;
  TimerId timer_ = kNoTimer;
  absl::Time timer_at_;
  uint64_t cycles_ = 0;
  std::string cycle_uid_;
  size_t next_node_ = 0;
  std::set<std::string> deferred_;
  TimerId deferred_timer_ = kNoTimer;
  TimerId queue_timer_ = kNoTimer;
};

}  // namespace basalt::actors

namespace basalt::kubesim {
using actors::GangScheduler;
using actors::GangSchedulerOptions;
}  // namespace basalt::kubesim
