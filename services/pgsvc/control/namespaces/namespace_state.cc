#include "services/pgsvc/control/namespaces/namespace_state.h"

#include <algorithm>

#include "common/kube/group_profile.h"
#include "common/kube/names.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {
namespace {

// Returns watch and name of the interest that the fact is about; an empty watch if it is about none.
std::pair<std::string_view, std::string_view> InterestOf(std::string_view fact) {
  if (!fact.starts_with(kube::kWatchObjectsPrefix)) return {};
  const size_t space = fact.rfind(' ');
  return {fact.substr(0, space), fact.substr(space + 1)};
}

}  // namespace

NamespaceState::NamespaceState(runtime::Context& context, ObjectInterests& interests, std::string_view namespace_key,
                               const GroupEmitter& emitter)
    : key(namespace_key), objects(emitter), context_(context), interests_(interests) {}

void NamespaceState::ServeAt(const std::string& name, absl::Time when) {
  later.Add(name, when);
  WakeAt(when);
}

void NamespaceState::NoteChanged(const std::set<std::string>& facts) {
  for (const std::string& fact : facts) {
    const std::set<std::string>& grouped = pod_facts_.Of(fact);
    pods_due.insert(grouped.begin(), grouped.end());
    const std::set<std::string>& checked = group_facts_.Of(fact);
    groups_due.insert(checked.begin(), checked.end());
  }
}

void NamespaceState::NoteGroup(const std::string& name, bool is_news) {
  GroupState& group = groups[name];
  to_publish.insert(name);
  if (!is_news) return;
  group.is_compared = false;
  groups_due.insert(name);
}

void NamespaceState::NoteActivity(const kube::v1::Pod& pod, const std::string& group) {
  const auto state = groups.find(group);
  const GroupState::Member* const known = state == groups.end() ? nullptr : state->second.Find(pod);
  if (known == nullptr) return;
  const bool was_active = known->is_active;
  if (was_active == IsActive(pod) && known->phase == pod.phase()) return;
  state->second.SetState(pod, IsActive(pod));
  to_publish.insert(group);
  if (was_active != IsActive(pod)) groups_due.insert(group);
}

void NamespaceState::Join(const kube::v1::Pod& pod, const std::string& group, const std::string& leaf) {
  PodState& state = pods[pod.uid()];
  if (state.group != group) Leave(pod.uid());
  state.group = group;
  GroupState& joined = groups[group];
  joined.Put(pod, {.leaf = leaf, .is_active = IsActive(pod), .phase = pod.phase()});
  // The first pod that the rules can group determines the group, and this may be that pod.
  joined.is_compared = false;
  joined.links.due.insert(pod.uid());
  groups_due.insert(group);
  to_publish.insert(group);
}

void NamespaceState::Leave(const std::string& uid) {
  const auto state = pods.find(uid);
  if (state == pods.end() || state->second.group.empty()) return;
  const std::string name = std::exchange(state->second.group, "");
  const auto left = groups.find(name);
  if (left == groups.end()) return;
  left->second.Remove(objects.pods().at(uid));
  left->second.links.due.erase(uid);
  groups_due.insert(name);
  to_publish.insert(name);
}

void NamespaceState::Depend(Dependents& all, const std::string& id, Dependents::Facts facts) {
  const Dependents::Change change = all.Set(id, std::move(facts));
  for (const std::string& fact : change.first) {
    const auto [watch, name] = InterestOf(fact);
    if (!watch.empty()) interests_.Add(watch, kube::NamespaceOf(key), name);
  }
  for (const std::string& fact : change.last) {
    if (!DependsOn(fact)) objects.Forget(fact);
    const auto [watch, name] = InterestOf(fact);
    if (!watch.empty()) interests_.Drop(watch, kube::NamespaceOf(key), name);
  }
}

void NamespaceState::DropInterests() {
  for (const Dependents* const all : {&pod_facts_, &group_facts_}) {
    for (const std::string& fact : all->All()) {
      const auto [watch, name] = InterestOf(fact);
      if (!watch.empty()) interests_.Drop(watch, kube::NamespaceOf(key), name);
    }
  }
}

void NamespaceState::EndFailures(const std::string& name, GroupState& group) {
  if (group.retry.since()) to_publish.insert(name);
  group.retry.Succeed();
  group.refusal.clear();
  failing.erase(name);
}

void NamespaceState::SetLeast(const std::string& name, GroupState& group, int64_t least) {
  if (std::exchange(group.least_pods, least) != least) to_publish.insert(name);
}

void NamespaceState::DropIfIdle(const std::string& name) {
  const auto group = groups.find(name);
  if (group == groups.end() || objects.FindGroup(name) != nullptr) return;
  const GroupState& state = group->second;
  if (!state.is_idle() || state.is_awaited || state.is_gone || state.record.has_notes()) return;
  if (state.published.revision != 0 || to_publish.contains(name)) return;
  if (groups_due.contains(name) || later.contains(name)) return;
  failing.erase(name);
  groups.erase(group);
}

bool NamespaceState::DependsOn(const std::string& fact) const {
  return !pod_facts_.Of(fact).empty() || !group_facts_.Of(fact).empty();
}

std::string_view NamespaceState::NameOfGroup(const kube::v1::Pod& pod) const {
  return FindKey(pod.grouping().annotations(), objects.emitter().group_name_key()).value_or("");
}

std::vector<const kube::v1::Pod*> NamespaceState::ActiveThatName(const std::string& name) const {
  std::vector<const kube::v1::Pod*> active;
  for (const std::string& uid : pod_facts_.Of(GroupFact(name))) {
    const auto pod = objects.pods().find(uid);
    const bool names = pod != objects.pods().end() && NameOfGroup(pod->second) == name;
    if (names && IsActive(pod->second)) active.push_back(&pod->second);
  }
  return active;
}

bool NamespaceState::MayBelong() const {
  return std::any_of(waiting.begin(), waiting.end(), [&](const std::string& uid) {
    const auto pod = objects.pods().find(uid);
    return pod != objects.pods().end() && IsActive(pod->second) && NameOfGroup(pod->second).empty();
  });
}

bool NamespaceState::IsThere(std::string_view name, const GroupState& group) const {
  return objects.FindGroup(name) != nullptr || (!group.is_awaited && group.has_active());
}

}  // namespace basalt::pgsvc
