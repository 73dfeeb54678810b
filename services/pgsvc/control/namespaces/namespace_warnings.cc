// Warns pods by Events about objects that they wait for, and about problems of the pods or of their groups.
#include "services/pgsvc/control/namespaces/namespace_warnings.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "common/kube/group_profile.h"
#include "common/kube/requests.h"
#include "common/reconcile/effect.h"
#include "services/pgsvc/control/pod_event.h"
#include "services/pgsvc/core/grouping/group_name.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {

NamespaceWarnings::NamespaceWarnings(runtime::Context& context, PodGrouper& grouper,
                                     const SlotMap<NamespaceState>& namespaces)
    : context_(context),
      grouper_(grouper),
      namespaces_(namespaces),
      recorder_(context, [this](const std::string& key, const std::string& uid) { return EventsOf(key, uid); }) {}

void NamespaceWarnings::NoteMissing(NamespaceState& space, const kube::v1::Pod& pod, std::string_view reason,
                                    std::string why) {
  if (!IsActive(pod)) return;
  PodState& state = space.pods[pod.uid()];
  state.missing = std::move(why);
  state.missing_reason = reason;
  state.missing_since = std::min(state.missing_since, context_.ApiNow());
  space.warnings.emplace(state.missing_since + kMissingGrace, pod.uid());
  space.WakeAt(state.missing_since + kMissingGrace);
}

void NamespaceWarnings::WarnOfMissing(NamespaceState& space) {
  const absl::Time now = context_.ApiNow();
  for (size_t i = 0; i < PodGrouper::kPodsPerPass && grouper_.HasSteps(); ++i) {
    if (space.warnings.empty() || space.warnings.begin()->first > now) break;
    const std::string uid = space.warnings.begin()->second;
    space.warnings.erase(space.warnings.begin());
    const auto pod = space.objects.pods().find(uid);
    const auto state = space.pods.find(uid);
    if (pod == space.objects.pods().end() || state == space.pods.end() || state->second.missing.empty()) continue;
    if (!IsActive(pod->second)) continue;
    if (state->second.missing_reason == kGroupMissing) {
      if (grouper_.emitter().profile() == kube::GroupProfile::kRich) {
        LookForGroup(space, pod->second);
        continue;
      }
      // A pod that has its node waits for no group.
      if (MakeAgain(space, pod->second) || !pod->second.node_name().empty()) continue;
    }
    RecordOnPod(space, pod->second, state->second.missing_reason, state->second.missing);
  }
  if (!space.warnings.empty()) space.WakeAt(space.warnings.begin()->first);
}

// The gateway sends groups of Volcano's jobs to the owners of the jobs' keys, so that such a group has to be read.
void NamespaceWarnings::LookForGroup(NamespaceState& space, const kube::v1::Pod& pod) {
  const std::string name(space.NameOfGroup(pod));
  std::set<std::string>& asked_for = space.lookups[name];
  asked_for.insert(pod.uid());
  if (asked_for.size() > 1) return;
  context_.Get(space.key, kube::GetOf(grouper_.emitter().kind(), kube::NamespaceOf(space.key), name),
               [this, key = space.key, name](const absl::StatusOr<gateway::v1::GetResponse>& answer) {
                 NamespaceState* const asked = namespaces_.Find(key);
                 if (asked != nullptr) OnLookup(*asked, name, answer);
               });
}

void NamespaceWarnings::OnLookup(NamespaceState& space, const std::string& name,
                                 const absl::StatusOr<gateway::v1::GetResponse>& answer) {
  auto lookup = space.lookups.extract(name);
  if (lookup.empty()) return;
  const bool is_there = answer.ok() && answer->has_object();
  const bool is_absent = AnswerOfRead(answer) == Answer::kNotFound;
  const absl::Time again = context_.ApiNow() + kMissingGrace;
  for (const std::string& uid : lookup.mapped()) {
    const auto pod = space.objects.pods().find(uid);
    const auto state = space.pods.find(uid);
    if (pod == space.objects.pods().end() || state == space.pods.end() || state->second.missing.empty()) continue;
    if (is_there) {
      state->second.missing.clear();
    } else if (!is_absent) {
      space.warnings.emplace(again, uid);
      space.WakeAt(again);
    } else if (IsActive(pod->second) && !MakeAgain(space, pod->second) && pod->second.node_name().empty()) {
      RecordOnPod(space, pod->second, state->second.missing_reason, state->second.missing);
    }
  }
}

// A group of ours may have gone while no process observed its last state, and its owner may have left the pods behind.
// Then the group is made by the rule for such a pod alone.
bool NamespaceWarnings::MakeAgain(NamespaceState& space, const kube::v1::Pod& pod) {
  const std::string name(space.NameOfGroup(pod));
  if (!IsNameByRules(name)) return false;
  const auto known = space.groups.find(name);
  if (known == space.groups.end() || !known->second.lost) {
    std::optional<json::object> body = grouper_.OwnerlessObjectFor(space, pod, name);
    if (!body) return false;
    space.groups[name].lost = std::move(body);
  }
  space.groups_due.insert(name);
  space.Wake();
  return true;
}

void NamespaceWarnings::CheckQueue(NamespaceState& space, const std::string& name, GroupState& group) {
  const ObservedGroup* const observed = space.objects.FindGroup(name);
  Dependents::Facts facts;
  std::string why;
  if (observed != nullptr && group.has_active()) why = grouper_.WhyQueuePlacesNothing(space, *observed, facts);
  space.SetFactsOfGroup(name, std::move(facts));
  if (group.queue_problem.Take(why, context_.ApiNow())) RecordOnGroup(space, name, group, "PodGroupWarning", why);
  if (group.queue_problem.due() != absl::InfiniteFuture()) space.ServeAt(name, group.queue_problem.due());
}

runtime::ObjectEvents* NamespaceWarnings::EventsOf(const std::string& key, const std::string& uid) const {
  NamespaceState* const space = namespaces_.Find(key);
  if (space == nullptr) return nullptr;
  const auto pod = space->pods.find(uid);
  return pod == space->pods.end() ? nullptr : &pod->second.events;
}

void NamespaceWarnings::RecordOnPod(NamespaceState& space, const kube::v1::Pod& pod, std::string_view reason,
                                    std::string_view message) {
  const std::string problem(message);
  std::set<std::string>& reported = space.reported[problem];
  PodState& state = space.pods[pod.uid()];
  if (!reported.contains(pod.uid())) {
    if (reported.size() >= kMostReported) return;
    reported.insert(pod.uid());
    state.problems.push_back(problem);
    if (state.problems.size() > kMostProblems) {
      ForgetProblem(space, state.problems.front(), pod.uid());
      state.problems.pop_front();
    }
  }
  recorder_.Record(space.key, state.events, WarningOn(pod, reason, message));
}

void NamespaceWarnings::RecordOnGroup(NamespaceState& space, const std::string& name, const GroupState& group,
                                      std::string_view reason, std::string_view message) {
  const auto first = space.objects.pods().find(std::string(group.FirstActive()));
  if (first != space.objects.pods().end()) return RecordOnPod(space, first->second, reason, message);
  // Pods whose owner has left them behind are no members.
  const std::vector<const kube::v1::Pod*> pods = space.ActiveThatName(name);
  if (!pods.empty()) RecordOnPod(space, *pods.front(), reason, message);
}

void NamespaceWarnings::Forget(NamespaceState& space, const PodState& pod, const std::string& uid) {
  for (const std::string& problem : pod.problems) ForgetProblem(space, problem, uid);
}

void NamespaceWarnings::ForgetProblem(NamespaceState& space, const std::string& problem, const std::string& uid) {
  const auto reported = space.reported.find(problem);
  if (reported == space.reported.end()) return;
  reported->second.erase(uid);
  if (reported->second.empty()) space.reported.erase(reported);
}

}  // namespace basalt::pgsvc
