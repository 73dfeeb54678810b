#include "services/pgsvc/control/namespaces/namespace_objects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "common/base/status.h"
#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "services/pgsvc/core/form/pod_object.h"
#include "services/pgsvc/core/grouping/kai_group.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {
namespace {

constexpr std::string_view kPodFactPrefix = "pod ";
constexpr std::string_view kLabelFactPrefix = "labels ";

std::string WatchOf(std::string_view api_version, std::string_view kind) {
  return fmt::format("{}{}/{}", kube::kWatchObjectsPrefix, api_version, kind);
}

// Returns the object of an interest. The gateway leaves out apiVersion and kind, which the interest contains.
json::value ObjectOf(std::string_view watch, const kube::v1::GenericObject& generic) {
  absl::StatusOr<json::value> parsed = ParseJson(generic.json());
  json::value object = parsed.ok() && parsed->is_object() ? *std::move(parsed) : json::value(json::object());
  const std::string_view kind = watch.substr(watch.rfind('/') + 1);
  watch.remove_prefix(kube::kWatchObjectsPrefix.size());
  object.as_object()["apiVersion"] = watch.substr(0, watch.size() - kind.size() - 1);
  object.as_object()["kind"] = kind;
  return object;
}

// Returns nullopt if the pod does not have all of these labels.
std::optional<std::vector<std::string>> ValuesOf(const kube::v1::Pod& pod, const std::vector<std::string>& keys) {
  std::vector<std::string> values;
  for (const std::string& key : keys) {
    const std::optional<std::string_view> value = FindKey(pod.grouping().labels(), key);
    if (!value) return std::nullopt;
    values.emplace_back(*value);
  }
  return values;
}

// Whether a text that a user wrote can be part of an object's address at all.
bool IsPlain(std::string_view text, std::string_view others) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [others](unsigned char c) {
    return std::isalnum(c) != 0 || others.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

}  // namespace

std::string ObjectFact(std::string_view watch, std::string_view name) { return fmt::format("{} {}", watch, name); }
std::string PodFact(std::string_view name) { return fmt::format("{}{}", kPodFactPrefix, name); }
std::string ClassFact(std::string_view priority_class) { return fmt::format("class {}", priority_class); }
std::string GroupFact(std::string_view name) { return fmt::format("group {}", name); }
std::string OwnedGroupsFact(std::string_view owner_uid) { return fmt::format("groups of {}", owner_uid); }
std::string KartaFact(std::string_view kind) { return fmt::format("karta {}", kind); }
std::string QueueFact(std::string_view name) { return fmt::format("queue {}", name); }
std::string LabelFact(const std::vector<std::string>& keys, const std::vector<std::string>& values) {
  return fmt::format("{}{}={}", kLabelFactPrefix, fmt::join(keys, ","), fmt::join(values, ","));
}

// ---- observed state ----

// Rules read whether a group exists, who owns it, and whether it has subgroups.
bool NamespaceObjects::IsAlike(const ObservedGroup& a, const ObservedGroup& b) {
  const auto has_sub_groups = [](const ObservedGroup& group) {
    const json::value object = GroupObject(group);
    return HasSubGroups(ObjectView(object));
  };
  return OwnerOf(a) == OwnerOf(b) && has_sub_groups(a) == has_sub_groups(b);
}

// Leaves out the status, which the scheduler writes in each of its cycles.
std::string NamespaceObjects::TextOf(const ObservedGroup& group) {
  kube::v1::PodGroup counts;
  *counts.mutable_meta() = group.object.meta();
  counts.mutable_meta()->clear_resource_version();
  *counts.mutable_spec() = group.object.spec();
  return counts.SerializeAsString() + group.spec_json;
}

void NamespaceObjects::IndexPod(const kube::v1::Pod& pod, bool is_there, std::set<std::string>& changed) {
  for (auto& [keys, index] : by_labels_) {
    const std::optional<Texts> values = ValuesOf(pod, keys);
    if (!values) continue;
    auto& by_values = index.pods;
    if (is_there) {
      by_values[*values].insert(pod.uid());
    } else if (const auto pods = by_values.find(*values); pods != by_values.end()) {
      pods->second.erase(pod.uid());
      if (pods->second.empty()) by_values.erase(pods);
    }
    changed.insert(LabelFact(keys, *values));
  }
}

const json::value& NamespaceObjects::JsonOf(const kube::v1::Pod& pod) {
  const auto [made, is_new] = pod_json_.try_emplace(pod.uid());
  if (is_new) made->second = PodObject(pod, emitter_.group_name_key());
  return made->second;
}

const json::value& NamespaceObjects::JsonOf(const ObservedGroup& group) {
  const auto [made, is_new] = group_json_.try_emplace(group.object.meta().name());
  if (is_new) made->second = GroupObject(group);
  return made->second;
}

void NamespaceObjects::DropMade() {
  pod_json_.clear();
  group_json_.clear();
}

void NamespaceObjects::CountName(const kube::v1::Pod& pod, int by) {
  const std::optional<std::string_view> name = FindKey(pod.grouping().annotations(), emitter_.group_name_key());
  if (!name || name->empty()) return;
  const auto count = named_.try_emplace(std::string(*name)).first;
  count->second.pods += by;
  count->second.active += IsActive(pod) ? by : 0;
  if (count->second.pods == 0) named_.erase(count);
}

NamespaceObjects::PodChange NamespaceObjects::SetPod(kube::v1::Pod&& pod) {
  PodChange change;
  kube::v1::Pod& known = pods_[pod.uid()];
  const std::string_view key = emitter_.group_name_key();
  change.is_news = known.uid().empty() || !LooksTheSame(known, pod, key) ||
                   (emitter_.counts_resources() && known.grouping().spec_json() != pod.grouping().spec_json());
  change.is_relinked = !NamesTheSame(known, pod, key);
  const bool is_seen = change.is_news || change.is_relinked;
  if (change.is_relinked || IsActive(known) != IsActive(pod)) {
    CountName(known, -1);
    CountName(pod, 1);
  }
  if (is_seen && !known.uid().empty()) IndexPod(known, false, change.facts);
  known = std::move(pod);
  if (!is_seen) return change;
  pod_json_.erase(known.uid());
  IndexPod(known, true, change.facts);
  pod_names_[known.name()].insert(known.uid());
  gone_pods_.erase(known.name());
  change.facts.insert(PodFact(known.name()));
  return change;
}

std::set<std::string> NamespaceObjects::ErasePod(const std::string& uid) {
  std::set<std::string> changed;
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return changed;
  IndexPod(pod->second, false, changed);
  CountName(pod->second, -1);
  const auto named = pod_names_.find(pod->second.name());
  named->second.erase(uid);
  if (named->second.empty()) pod_names_.erase(named);
  changed.insert(PodFact(pod->second.name()));
  pod_json_.erase(uid);
  pods_.erase(pod);
  return changed;
}

const kube::v1::Pod* NamespaceObjects::FindPod(std::string_view name) const {
  const auto named = pod_names_.find(name);
  if (named == pod_names_.end()) return nullptr;
  const kube::v1::Pod* found = nullptr;
  for (const std::string& uid : named->second) {
    const kube::v1::Pod& pod = pods_.at(uid);
    if (found == nullptr || found->deletion_ms() != 0) found = &pod;
  }
  return found;
}

std::string_view NamespaceObjects::OwnerOf(const ObservedGroup& group) {
  const auto& owners = group.object.meta().owner_references();
  return owners.empty() ? std::string_view() : std::string_view(owners[0].uid());
}

NamespaceObjects::GroupChange NamespaceObjects::SetGroup(std::unique_ptr<ObservedGroup> group) {
  const std::string name = group->object.meta().name();
  const std::string owner(OwnerOf(*group));
  if (const auto known = groups_.find(name); known != groups_.end()) {
    const bool is_news = TextOf(*known->second) != TextOf(*group);
    if (is_news) group_json_.erase(name);
    if (!is_news || IsAlike(*known->second, *group)) {
      known->second = std::move(group);
      return {.is_news = is_news, .facts = {}};
    }
  }
  GroupChange change{.is_news = true, .facts = EraseGroup(name)};
  if (!owner.empty()) groups_of_[owner].insert(name);
  change.facts.insert(GroupFact(name));
  change.facts.insert(OwnedGroupsFact(owner));
  groups_[name] = std::move(group);
  return change;
}

std::set<std::string> NamespaceObjects::EraseGroup(std::string_view name) {
  const auto group = groups_.find(name);
  if (group == groups_.end()) return {};
  const std::string owner(OwnerOf(*group->second));
  if (const auto owned = groups_of_.find(owner); owned != groups_of_.end()) {
    owned->second.erase(std::string(name));
    if (owned->second.empty()) groups_of_.erase(owned);
  }
  std::set<std::string> changed{GroupFact(name), OwnedGroupsFact(owner)};
  group_json_.erase(group->first);
  groups_.erase(group);
  return changed;
}

std::string NamespaceObjects::SetObject(std::string_view watch, const kube::v1::GenericObject& object, bool gone) {
  std::string fact = ObjectFact(watch, object.meta().name());
  Object& known = objects_[fact];
  known = {};
  if (gone) return fact;
  known.state = object.unreadable().empty() ? State::kKnown : State::kForbidden;
  known.why = object.unreadable();
  known.is_going = object.meta().deletion_ms() != 0;
  if (known.state == State::kKnown) known.json = ObjectOf(watch, object);
  return fact;
}

bool NamespaceObjects::IsGoing(std::string_view api_version, std::string_view kind, std::string_view name) const {
  const auto known = objects_.find(ObjectFact(WatchOf(api_version, kind), name));
  return known != objects_.end() && known->second.is_going;
}

void NamespaceObjects::Forget(const std::string& fact) {
  objects_.erase(fact);
  if (fact.starts_with(kPodFactPrefix)) gone_pods_.erase(fact.substr(kPodFactPrefix.size()));
  if (!fact.starts_with(kLabelFactPrefix)) return;
  for (auto index = by_labels_.begin(); index != by_labels_.end(); ++index) {
    if (index->second.facts.erase(fact) == 0) continue;
    if (index->second.facts.empty()) by_labels_.erase(index);
    return;
  }
}

const ObservedGroup* NamespaceObjects::FindGroup(std::string_view name) const {
  const auto group = groups_.find(name);
  return group == groups_.end() ? nullptr : group->second.get();
}

// ---- the view of the rules ----

const NamespaceObjects::Object* NamespaceView::Ask(std::string_view api_version, std::string_view kind,
                                                   std::string_view name) const {
  static const NamespaceObjects::Object kNone;
  if (!IsPlain(api_version, "./-") || !IsPlain(kind, ".-") || !IsPlain(name, ".-:")) return &kNone;
  const std::string fact = ObjectFact(WatchOf(api_version, kind), name);
  facts_.insert(fact);
  const auto known = objects_.objects_.find(fact);
  if (known != objects_.objects_.end()) return &known->second;
  waits_for_.push_back(fact);
  return nullptr;
}

absl::StatusOr<std::vector<ObjectView>> NamespaceView::OwnersOf(ObjectView pod) {
  return pgsvc::OwnersOf(
      pod, [this](const OwnerReference& reference, std::string_view ns) { return FindOwner(reference, ns); });
}

absl::StatusOr<ObjectView> NamespaceView::FindOwner(const OwnerReference& reference, std::string_view ns) {
  using State = NamespaceObjects::State;
  const std::string text = fmt::format("{} {}/{}", reference.kind, ns, reference.name);
  if (reference.api_version == kube::kPods.version && reference.kind == kube::kPods.name) {
    // A driver that another scheduler places is not known here: all pods of the cluster would have to be watched.
    facts_.insert(PodFact(reference.name));
    const kube::v1::Pod* const owner = objects_.FindPod(reference.name);
    if (owner != nullptr) return ObjectView(objects_.JsonOf(*owner));
    if (objects_.gone_pods_.contains(reference.name)) return absl::NotFoundError(text + " does not exist any more");
    return MakeStatus(absl::StatusCode::kPermissionDenied, text + " is placed by another scheduler");
  }
  const NamespaceObjects::Object* const object = Ask(reference.api_version, reference.kind, reference.name);
  if (object == nullptr) return MakeStatus(absl::StatusCode::kUnavailable, text + " is not known yet");
  switch (object->state) {
    case State::kAbsent:
      break;
    case State::kForbidden:
      unreadable_.push_back(fmt::format("{}: {}", text, object->why));
      return MakeStatus(absl::StatusCode::kPermissionDenied, text + " must not be read");
    case State::kKnown:
      return ObjectView(object->json);
  }
  return absl::NotFoundError(text + " does not exist");
}

SeenQueue NamespaceView::FindQueue(std::string_view name) const {
  using State = NamespaceObjects::State;
  const kube::Kind& kind = kube::kKaiQueues;
  const NamespaceObjects::Object* const queue = Ask(fmt::format("{}/{}", kind.group, kind.version), kind.name, name);
  if (queue == nullptr || queue->state == State::kForbidden) return {};
  if (queue->state == State::kAbsent) return {.state = SeenQueue::State::kAbsent};
  const json::value* const spec = basalt::Find(queue->json, "spec");
  const json::value* const children = FindPath(queue->json, {"status", "childQueues"});
  return {.state = SeenQueue::State::kThere,
          .parent = spec == nullptr ? "" : std::string(FindString(*spec, "parentQueue")),
          .has_children = children != nullptr && children->is_array() && !children->get_array().empty()};
}

bool NamespaceView::HasPriorityClass(std::string_view name) const {
  facts_.insert(ClassFact(name));
  return priority_classes_.contains(name);
}

ObjectView NamespaceView::Find(std::string_view api_version, std::string_view kind, std::string_view,
                               std::string_view name) const {
  if (api_version == kKaiApiVersion && kind == kube::kKaiPodGroups.name) {
    facts_.insert(GroupFact(name));
    const ObservedGroup* const group = objects_.FindGroup(name);
    return group == nullptr ? ObjectView() : ObjectView(objects_.JsonOf(*group));
  }
  const NamespaceObjects::Object* const object = Ask(api_version, kind, name);
  const bool is_known = object != nullptr && object->state == NamespaceObjects::State::kKnown;
  return is_known ? ObjectView(object->json) : ObjectView();
}

KartaChoice NamespaceView::KartaFor(ObjectView top) const {
  facts_.insert(KartaFact(KartaSet::KindText(top)));
  return kartas_.For(top);
}

std::vector<ObjectView> NamespaceView::GroupsOwnedBy(std::string_view, std::string_view uid) const {
  facts_.insert(OwnedGroupsFact(uid));
  std::vector<ObjectView> groups;
  const auto names = objects_.groups_of_.find(std::string(uid));
  if (names == objects_.groups_of_.end()) return groups;
  for (const std::string& name : names->second) groups.emplace_back(objects_.JsonOf(*objects_.FindGroup(name)));
  return groups;
}

std::vector<ObjectView> NamespaceView::PodsWithLabels(std::string_view, const Labels& labels) const {
  std::vector<std::string> keys;
  std::vector<std::string> values;
  for (const auto& [key, value] : labels) {
    keys.emplace_back(key);
    values.emplace_back(value);
  }
  const std::string fact = LabelFact(keys, values);
  facts_.insert(fact);
  const auto [index, is_new] = objects_.by_labels_.try_emplace(keys);
  if (is_new) {
    for (const auto& [uid, pod] : objects_.pods_) {
      if (const auto own = ValuesOf(pod, keys)) index->second.pods[*own].insert(uid);
    }
  }
  index->second.facts.insert(fact);
  std::vector<ObjectView> pods;
  const auto uids = index->second.pods.find(values);
  if (uids == index->second.pods.end()) return pods;
  for (const std::string& uid : uids->second) pods.emplace_back(objects_.JsonOf(objects_.pods_.at(uid)));
  return pods;
}

}  // namespace basalt::pgsvc
