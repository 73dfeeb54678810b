#pragma once

// A gang scheduler that behaves towards PodGroups, pods and queues as Volcano's does (podgroup spec 9, queue spec 2.1
// and 9): votes groups in, binds gangs whole or not at all, writes phases, counters, conditions and Events. A plain API
// client.
//
// Simplified: queues are flat and bounded by their capability alone (no weights, no reclaim, no preemption), groups go
// in the order of their creation, tainted nodes are not used, affinity is not looked at, and status.allocated of queues
// is not written. Events that say the same as the group's last one are not repeated.
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
  // Pods of these names are bound one by one: where there is no other scheduler for them.
  std::set<std::string> plain_scheduler_names;
  // KAI's: its pods are bound one by one as well, once their groups let them (kai_gangs.h).
  std::set<std::string> kai_scheduler_names;
  std::string default_queue = "default";
  bool create_queues = true;
  absl::Duration period = absl::Seconds(1);
  absl::Duration change_delay = absl::Milliseconds(50);  // From a change to the cycle that looks at it.
  ApiOptions api;
};

// Confined to one loop. `pods` is an informer of all pods, started by the owner after this has been constructed.
class GangScheduler {
 public:
  GangScheduler(Loop& loop, http::Client& client, Random& random, Informer& pods, GangSchedulerOptions options);
  ~GangScheduler();
  void Start();

  // Through the eviction subresource, as preemption would.
  void Evict(const std::string& space, const std::string& name);

  uint64_t cycles() const { return cycles_; }
  // Nothing is to be done or on its way.
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
  // A node with room, from where the last search ended; empty: none, and `why` says so.
  std::string Place(const Task& task, std::string* why);
  void Bind(Task& task);
  void Write(Group& group, json::object status);
  // Looks at the group again one period from now.
  void Defer(const Group& group);
  // Unless `last` says that the group has been told the same.
  void TellEvent(Group& group, std::string& last, const GroupEvent& event);

  Loop& loop_;
  Random& random_;
  const GangSchedulerOptions options_;
  Api api_;
  SchedulerCache cache_;
  std::unique_ptr<KaiGangs> kai_gangs_;  // Null, as its informer: there is no scheduler of KAI's.
  std::unique_ptr<Informer> kai_groups_;
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
