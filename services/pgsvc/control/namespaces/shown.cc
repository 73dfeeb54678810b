// Records the decisions about the groups of a namespace, and publishes the state of each group.
#include <algorithm>
#include <utility>

#include "common/base/json.h"
#include "common/base/json_int32.h"
#include "common/base/slots.h"
#include "common/kube/group_profile.h"
#include "common/kube/object_key.h"
#include "common/runtime/objects/object_identity.h"
#include "services/pgsvc/control/namespaces/explain.h"
#include "services/pgsvc/control/namespaces/namespace_groups.h"
#include "services/pgsvc/control/shown_state.h"

namespace basalt::pgsvc {
namespace {

// Sets the fields that lists and filters read, from a group of KAI's.
void ShowSpec(const ObservedGroup& group, const json::value& spec, podgroup::v1::PodGroup& message) {
  message.set_spec_json(group.spec_json);
  kube::v1::PodGroupSpec& shown = *message.mutable_object()->mutable_spec();
  shown.set_queue(std::string(FindString(spec, "queue")));
  shown.set_priority_class_name(std::string(FindString(spec, "priorityClassName")));
  shown.set_min_member(FindInt32(spec, "minMember"));
}

}  // namespace

std::optional<podgroup::v1::PodGroup> NamespaceGroups::Show(std::string_view key, std::string_view name) const {
  const NamespaceState* const space = namespaces_.Find(key);
  if (space == nullptr) return std::nullopt;
  const auto known = space->groups.find(name);
  if (known == space->groups.end() || !space->IsThere(known->first, known->second)) return std::nullopt;
  const GroupState& group = known->second;
  const ObservedGroup* const observed = space->objects.FindGroup(name);
  podgroup::v1::PodGroup message =
      GroupPublisher::Show(key, name, observed == nullptr ? nullptr : &observed->object, group.members().size(), group);
  if (observed != nullptr && grouper_.emitter().profile() == kube::GroupProfile::kKai) {
    ShowSpec(*observed, grouper_.emitter().SpecOf(*observed), message);
  }
  if (!group.members().empty()) *message.mutable_members() = MembersOf(group, group.least_pods);
  return message;
}

std::string_view NamespaceGroups::GroupOf(std::string_view key, std::string_view pod_name) const {
  const NamespaceState* const space = namespaces_.Find(key);
  const kube::v1::Pod* const pod = space == nullptr ? nullptr : space->objects.FindPod(pod_name);
  const auto known = pod == nullptr ? decltype(space->pods.end())() : space->pods.find(pod->uid());
  return pod == nullptr || known == space->pods.end() ? std::string_view() : std::string_view(known->second.group);
}

void NamespaceGroups::ForEachPublished(uint32_t slot, const runtime::VisitObject& visit) const {
  for (const std::string& key : namespaces_.KeysOf(slot)) {
    NamespaceState& space = *namespaces_.Find(key);
    for (auto& [name, group] : space.groups) {
      const bool is_seen = space.IsThere(name, group);
      if (!is_seen && !group.is_awaited) continue;
      visit(kube::ShownGroupKey(kube::NamespaceOf(key), name, grouper_.emitter().profile()), group.published, is_seen);
    }
  }
}

void NamespaceGroups::AddPublishedKeys(uint32_t slot, std::set<std::string>& keys) const {
  for (const std::string& key : namespaces_.KeysOf(slot)) {
    for (const auto& [name, group] : namespaces_.Find(key)->groups) {
      keys.insert(kube::ShownGroupKey(kube::NamespaceOf(key), name, grouper_.emitter().profile()));
    }
  }
}

void NamespaceGroups::LoadPublished(uint32_t slot, const std::string& published_key,
                                    const storage::v1::PublishedObject& record,
                                    std::vector<runtime::KnownObject>& known) {
  const auto [ns, name] = kube::SplitKey(published_key);
  const std::string key = kube::NamespaceKey(ns, grouper_.emitter().profile());
  if (SlotOf(key) != slot) return;
  NamespaceState& space = NamespaceOf(key);
  GroupState& group = space.groups[std::string(name)];
  GroupPublisher::Load(record, group);
  space.to_publish.insert(std::string(name));  // The pods decide whether the group is wanted.
  context_.Wake(key);
  if (!group.is_awaited) return;
  known.push_back(
      {grouper_.emitter().watch(), key, record.uid(), std::string(ns), std::string(name), record.resource_version()});
}

void NamespaceGroups::VisitFrom(std::string_view ns, std::string_view name, const VisitGroup& visit) const {
  // Sorts the namespaces by "namespace/name", since the keys of KAI's namespaces are in another order.
  std::vector<std::pair<std::string, const std::string*>> spaces;
  for (const auto& [key, space] : namespaces_) spaces.emplace_back(kube::ObjectKey(kube::NamespaceOf(key), "/"), &key);
  std::sort(spaces.begin(), spaces.end());
  const std::string first = kube::ObjectKey(ns, "/");
  for (const auto& [prefix, key] : spaces) {
    if (!ns.empty() && prefix < first) continue;
    const auto& groups = namespaces_.Find(*key)->groups;
    const bool is_begun = !ns.empty() && prefix == first;
    for (auto group = is_begun ? groups.lower_bound(name) : groups.begin(); group != groups.end(); ++group) {
      if (!visit(*key, group->first)) return;
    }
  }
}

void NamespaceGroups::Decide(std::string_view key, kv::WriteBatch& batch) {
  NamespaceState* const space = namespaces_.Find(key);
  // Before all pods were looked at, groups seem to have fewer pods than they have.
  if (space == nullptr || !space->is_complete) return;
  const uint32_t slot = SlotOf(key);
  for (const std::string& name : std::exchange(space->to_publish, {})) {
    const auto known = space->groups.find(name);
    if (known == space->groups.end()) continue;
    GroupState& group = known->second;
    const std::string published_key = kube::ShownGroupKey(kube::NamespaceOf(key), name, grouper_.emitter().profile());
    const bool is_there = space->IsThere(name, group);
    const ObservedGroup* const observed = space->objects.FindGroup(name);
    const kube::v1::PodGroup* const object = observed == nullptr ? nullptr : &observed->object;
    watch::StateHash state;
    state.Add(PublishedStateOf(object, group.members().size(), group.retry));
    if (!group.members().empty()) state.Add(MembersOf(group, group.least_pods).SerializeAsString());
    const GroupPublisher::View view = {.observed = object,
                                       .is_there = is_there,
                                       .is_unwanted = !is_there && !group.busy && group.links.under_way.empty(),
                                       .state = state.value()};
    if (publisher_.Record(slot, published_key, view, group, batch)) space->to_publish.insert(name);
    if (!is_there && !group.is_awaited) space->groups_due.insert(name);  // The group may be dropped.
  }
}

std::optional<Explanation> NamespaceGroups::Explain(std::string_view key, std::string_view pod_name) const {
  NamespaceState* const space = namespaces_.Find(key);
  if (space == nullptr) return std::nullopt;
  std::optional<Explanation> explanation = ExplainPod(grouper_, *space, pod_name, context_.ApiNow());
  space->objects.DropMade();
  return explanation;
}

}  // namespace basalt::pgsvc
