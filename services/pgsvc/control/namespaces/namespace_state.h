#pragma once

// The state of one namespace: its pods, its groups, and the work that is due. Each change makes the pods and groups due
// that it concerns, and requests no other work. Confined to the worker's loop.
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/runtime/controller.h"
#include "common/runtime/events/object_events.h"
#include "services/pgsvc/control/group/due_queue.h"
#include "services/pgsvc/control/namespaces/dependents.h"
#include "services/pgsvc/control/namespaces/group_state.h"
#include "services/pgsvc/control/namespaces/namespace_objects.h"
#include "services/pgsvc/control/namespaces/object_interests.h"
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

struct PodState {
  std::string group;  // Empty if the pod is in no group, or if its group is not known yet.
  // The text of the warning about an object or a group that the pod lacks; empty if it lacks none.
  std::string missing;
  std::string_view missing_reason;  // The reason of the Event with the text `missing`.
  absl::Time missing_since = absl::InfiniteFuture();
  PodLink link;
  std::deque<std::string> problems;  // The newest problems of which the pod has an Event (NamespaceWarnings).
  runtime::ObjectEvents events;
};

struct NamespaceState {
  // All references outlive this object. `key` is the kube::NamespaceKey.
  NamespaceState(runtime::Context& context, ObjectInterests& interests, std::string_view key,
                 const GroupEmitter& emitter);

  // ---- passes ----
  void Wake() { context_.Wake(key); }
  void WakeAt(absl::Time when) { context_.WakeAt(key, when); }
  // Has a pass serve the group at that time.
  void ServeAt(const std::string& name, absl::Time when);

  // ---- changes ----
  // Makes the pods due that were grouped by these facts, and the groups whose queues were checked by them.
  void NoteChanged(const std::set<std::string>& facts);
  // The group has changed. `is_news` is false if only its scheduler has written its status.
  void NoteGroup(const std::string& name, bool is_news);
  // Counts the phase of the pod anew, and whether it is active: it may have ended.
  void NoteActivity(const kube::v1::Pod& pod, const std::string& group);
  void Join(const kube::v1::Pod& pod, const std::string& group, const std::string& leaf);
  void Leave(const std::string& uid);
  // Sets the facts that the pod was grouped by, and requests the objects that they name.
  void SetFactsOfPod(const std::string& uid, Dependents::Facts facts) { Depend(pod_facts_, uid, std::move(facts)); }
  // Does the same for the facts by which the queue of a group was checked.
  void SetFactsOfGroup(const std::string& name, Dependents::Facts facts) {
    Depend(group_facts_, name, std::move(facts));
  }
  // Drops the interests of all facts, since the namespace moves to another replica.
  void DropInterests();
  // Ends the failures of the group, since it needs no write.
  void EndFailures(const std::string& name, GroupState& group);
  // Sets how many pods have to run for the group to run.
  void SetLeast(const std::string& name, GroupState& group, int64_t least);
  // Forgets the group if nothing is known or due about it.
  void DropIfIdle(const std::string& name);

  // ---- the present state ----
  // Whether some pod or group depends on the fact.
  bool DependsOn(const std::string& fact) const;
  // Returns the name of the group that the pod names; empty if it names none.
  std::string_view NameOfGroup(const kube::v1::Pod& pod) const;
  // Returns the active pods that name the group and that were grouped by this name.
  std::vector<const kube::v1::Pod*> ActiveThatName(const std::string& name) const;
  // Whether there are active pods that name no group, and whose group is not known yet.
  bool MayBelong() const;
  // Whether clients get the group: it is observed, or active pods want it.
  bool IsThere(std::string_view name, const GroupState& group) const;

  const std::string key;
  // Whether all pods that existed when the namespace came here have been grouped once, or their owners have been waited
  // for long enough. Before that, a group may only seem to lack pods.
  bool is_complete = false;
  std::optional<absl::Time> waits_since;  // When a pass had first looked at all known pods.
  NamespaceObjects objects;
  std::map<std::string, PodState> pods;  // By UID.
  std::map<std::string, GroupState, std::less<>> groups;
  std::set<std::string> pods_due;    // UIDs of pods to be grouped.
  std::set<std::string> groups_due;  // Groups to be served in the next pass.
  DueQueue later;                    // Groups to be served later.
  ScopeLinks links;
  std::set<std::string> to_publish;  // Groups whose history or published state may have changed.
  std::set<std::string> failing;     // Groups whose last write, or the read after it, has failed.
  // The group of each pod that the rules have grouped in this pass, by UID.
  std::map<std::string, Grouping> found;
  // UIDs of pods whose grouping lacks an object that does not exist, or was not reported yet.
  std::set<std::string> waiting;
  std::set<std::pair<absl::Time, std::string>> warnings;  // When to warn pods that lack something, with their UIDs.
  // UIDs of the pods that wait for the read of a group, by its name.
  std::map<std::string, std::set<std::string>> lookups;
  // UIDs of the pods that have an Event of a problem, by its text.
  std::map<std::string, std::set<std::string>> reported;

 private:
  void Depend(Dependents& all, const std::string& id, Dependents::Facts facts);

  runtime::Context& context_;
  ObjectInterests& interests_;
  Dependents pod_facts_;    // The UIDs of pods, by the facts that they were grouped by.
  Dependents group_facts_;  // The names of groups, by facts about their queues.
};

}  // namespace basalt::pgsvc
