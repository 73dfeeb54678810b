// Warns pods by Events about objects that they wait for, and about problems of the pods or of their groups.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "common/kube/group_profile.h"
#include "common/kube/names.h"
#include "common/kube/requests.h"
#include "services/pgsvc/control/namespaces/namespace_groups.h"
#include "services/pgsvc/control/pod_event.h"
#include "services/pgsvc/core/grouping/group_name.h"
#include "services/pgsvc/core/grouping/group_plan.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {

void NamespaceGroups::NoteMissing(const std::string& ns, Namespace& space, const kube::v1::Pod& pod,
                                  std::string_view reason, std::string why) {
  if (!IsActive(pod)) return;
  Pod& state = space.pods[pod.uid()];
  state.missing = std::move(why);
  state.missing_reason = reason;
  state.missing_since = std::min(state.missing_since, context_.ApiNow());
  space.warnings.emplace(state.missing_since + kMissingGrace, pod.uid());
  context_.WakeAt(ns, state.missing_since + kMissingGrace);
}

void NamespaceGroups::WarnOfMissing(const std::string& ns, Namespace& space) {
  const absl::Time now = context_.ApiNow();
  for (size_t i = 0; i < kPodsPerPass && pass_steps_ < kStepsPerPass; ++i) {
    if (space.warnings.empty() || space.warnings.begin()->first > now) break;
    const std::string uid = space.warnings.begin()->second;
    space.warnings.erase(space.warnings.begin());
    const auto pod = space.objects.pods().find(uid);
    const auto state = space.pods.find(uid);
    if (pod == space.objects.pods().end() || state == space.pods.end() || state->second.missing.empty()) continue;
    if (!IsActive(pod->second)) continue;
    if (state->second.missing_reason == kGroupMissing) {
      if (emitter_->profile() == kube::GroupProfile::kRich) {
        LookForGroup(ns, space, pod->second);
        continue;
      }
      // A pod that has its node waits for no group.
      if (MakeAgain(ns, space, pod->second) || !pod->second.node_name().empty()) continue;
    }
    RecordOnPod(ns, space, pod->second, state->second.missing_reason, state->second.missing);
  }
  if (!space.warnings.empty()) context_.WakeAt(ns, space.warnings.begin()->first);
}

// The gateway sends groups of Volcano's jobs to the owners of the jobs' keys, so that such a group has to be read.
void NamespaceGroups::LookForGroup(const std::string& ns, Namespace& space, const kube::v1::Pod& pod) {
  const std::string name(NameOfGroup(pod));
  std::set<std::string>& asked_for = space.lookups[name];
  asked_for.insert(pod.uid());
  if (asked_for.size() > 1) return;
  context_.Get(ns, kube::GetOf(emitter_->kind(), kube::NamespaceOf(ns), name),
               [this, ns, name](const absl::StatusOr<gateway::v1::GetResponse>& answer) {
                 Namespace* const asked = namespaces_.Find(ns);
                 if (asked != nullptr) OnLookup(ns, *asked, name, answer);
               });
}

void NamespaceGroups::OnLookup(const std::string& ns, Namespace& space, const std::string& name,
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
      context_.WakeAt(ns, again);
    } else if (IsActive(pod->second) && !MakeAgain(ns, space, pod->second) && pod->second.node_name().empty()) {
      RecordOnPod(ns, space, pod->second, state->second.missing_reason, state->second.missing);
    }
  }
}

// A group of ours may have gone while no process observed its last state, and its owner may have left the pods behind.
// Then the group is made by the rule for such a pod alone.
bool NamespaceGroups::MakeAgain(const std::string& ns, Namespace& space, const kube::v1::Pod& pod) {
  const std::string name(NameOfGroup(pod));
  if (!IsNameByRules(name)) return false;
  const auto known = space.groups.find(name);
  if (known == space.groups.end() || !known->second.lost) {
    std::optional<json::object> body = OwnerlessObjectFor(space, pod, name);
    if (!body) return false;
    space.groups[name].lost = std::move(body);
  }
  space.groups_due.insert(name);
  context_.Wake(ns);
  return true;
}

std::vector<const kube::v1::Pod*> NamespaceGroups::ActiveThatName(const Namespace& space,
                                                                  const std::string& name) const {
  std::vector<const kube::v1::Pod*> pods;
  for (const std::string& uid : space.dependents.Of(GroupFact(name))) {
    const auto pod = space.objects.pods().find(uid);
    const bool names = pod != space.objects.pods().end() && NameOfGroup(pod->second) == name;
    if (names && IsActive(pod->second)) pods.push_back(&pod->second);
  }
  return pods;
}

std::optional<json::object> NamespaceGroups::OwnerlessObjectFor(Namespace& space, const kube::v1::Pod& pod,
                                                                const std::string& name) {
  StepBudget budget;
  Found found = FindGrouping(space, pod, budget);
  pass_steps_ += budget.used();
  if (!found.alone) return std::nullopt;
  Grouping& grouping = *found.alone;
  grouping.name = name;
  // The scheduler never places a pod whose label names no subgroup (weakness G18).
  std::set<std::string> leaves;
  for (const SubGroup& sub_group : grouping.sub_groups) leaves.insert(sub_group.name);
  GroupPlanOfPods planned{.grouping = {}, .pod = &pod, .leaf_pods = {{"", &pod}}};
  for (const kube::v1::Pod* const one : ActiveThatName(space, name)) {
    const std::string leaf(FindKey(one->grouping().labels(), kube::kKaiSubGroupNameKey).value_or(""));
    planned.leaf_pods.try_emplace(leaf, one);
    if (leaf.empty() || !leaves.insert(leaf).second) continue;
    grouping.sub_groups.push_back({.name = leaf, .minimum = {.count = 0}});
  }
  GroupPlan plan;
  plan.Add(pod.name(), std::move(grouping));
  planned.grouping = plan.Group(rules_.form);
  json::object body = Render(space, planned).object;
  ObjectIn(body, "metadata").erase("ownerReferences");
  return body;
}

runtime::ObjectEvents* NamespaceGroups::EventsOf(const std::string& ns, const std::string& uid) const {
  Namespace* const space = namespaces_.Find(ns);
  if (space == nullptr) return nullptr;
  const auto pod = space->pods.find(uid);
  return pod == space->pods.end() ? nullptr : &pod->second.events;
}

void NamespaceGroups::RecordOnPod(const std::string& ns, Namespace& space, const kube::v1::Pod& pod,
                                  std::string_view reason, std::string_view message) {
  const std::string problem(message);
  std::set<std::string>& reported = space.reported[problem];
  Pod& state = space.pods[pod.uid()];
  if (!reported.contains(pod.uid())) {
    if (reported.size() >= kMostReported) return;
    reported.insert(pod.uid());
    state.problems.push_back(problem);
    if (state.problems.size() > kMostProblems) {
      ForgetProblem(space, state.problems.front(), pod.uid());
      state.problems.pop_front();
    }
  }
  recorder_.Record(ns, state.events, WarningOn(pod, reason, message));
}

void NamespaceGroups::RecordOnGroup(const std::string& ns, Namespace& space, const std::string& name,
                                    const GroupState& group, std::string_view reason, std::string_view message) {
  const auto first = space.objects.pods().find(std::string(group.FirstActive()));
  if (first != space.objects.pods().end()) return RecordOnPod(ns, space, first->second, reason, message);
  // Pods whose owner has left them behind are no members.
  const std::vector<const kube::v1::Pod*> pods = ActiveThatName(space, name);
  if (!pods.empty()) RecordOnPod(ns, space, *pods.front(), reason, message);
}

void NamespaceGroups::ForgetProblem(Namespace& space, const std::string& problem, const std::string& uid) {
  const auto reported = space.reported.find(problem);
  if (reported == space.reported.end()) return;
  reported->second.erase(uid);
  if (reported->second.empty()) space.reported.erase(reported);
}

}  // namespace basalt::pgsvc
