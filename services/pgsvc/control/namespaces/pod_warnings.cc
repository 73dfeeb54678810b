// What pods are warned of by Events: what they wait for, and what is wrong with them or with their group.
#include <algorithm>

#include "common/kube/group_profile.h"
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
  while (!space.warnings.empty() && space.warnings.begin()->first <= now) {
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
      if (MakeAgain(ns, space, pod->second)) continue;
    }
    RecordOnPod(ns, space, pod->second, state->second.missing_reason, state->second.missing);
  }
  if (!space.warnings.empty()) context_.WakeAt(ns, space.warnings.begin()->first);
}

// Groups of Volcano's jobs are told elsewhere.
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
  const bool is_absent = answer.ok() && answer->error().code() == 404;
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
    } else if (IsActive(pod->second) && !MakeAgain(ns, space, pod->second)) {
      RecordOnPod(ns, space, pod->second, state->second.missing_reason, state->second.missing);
    }
  }
}

// A group of ours may have gone while nobody was here to see its last state, and its owner may have left the pods: they
// are placed by their own rule then.
bool NamespaceGroups::MakeAgain(const std::string& ns, Namespace& space, const kube::v1::Pod& pod) {
  const std::string name(NameOfGroup(pod));
  if (!IsNameByRules(name)) return false;
  GroupState& group = space.groups[name];
  if (!group.lost) group.lost = OwnerlessObjectFor(space, pod, name);
  space.groups_due.insert(name);
  if (!group.lost) return false;
  context_.Wake(ns);
  return true;
}

std::optional<json::object> NamespaceGroups::OwnerlessObjectFor(Namespace& space, const kube::v1::Pod& pod,
                                                                const std::string& name) {
  StepBudget budget;
  Found found = FindGrouping(space, pod, budget);
  pass_steps_ += budget.used();
  if (!found.alone) return std::nullopt;
  GroupPlan plan;
  plan.Add(pod.name(), *std::move(found.alone));
  GroupPlanOfPods planned{.grouping = plan.Group(rules_.form), .pod = &pod, .leaf_pods = {{"", &pod}}};
  planned.grouping.name = name;
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

void NamespaceGroups::RecordOnGroup(const std::string& ns, Namespace& space, const GroupState& group,
                                    std::string_view reason, std::string_view message) {
  const auto first = space.objects.pods().find(std::string(group.FirstActive()));
  if (first != space.objects.pods().end()) RecordOnPod(ns, space, first->second, reason, message);
}

void NamespaceGroups::ForgetProblem(Namespace& space, const std::string& problem, const std::string& uid) {
  const auto reported = space.reported.find(problem);
  if (reported == space.reported.end()) return;
  reported->second.erase(uid);
  if (reported->second.empty()) space.reported.erase(reported);
}

}  // namespace basalt::pgsvc
