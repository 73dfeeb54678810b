#include "kubesim/actors/scheduler/kai_gangs.h"

#include <algorithm>
#include <utility>

#include "common/base/json_int32.h"
#include "common/kube/names.h"

namespace basalt::actors {
namespace {

std::string_view TextAt(const json::value& object, std::initializer_list<std::string_view> path,
                        std::string_view member) {
  const json::value* const found = FindPath(object, path);
  return found == nullptr ? std::string_view() : FindString(*found, member);
}

}  // namespace

// ---- a gang ----

KaiGang KaiGang::Of(const json::value& group) {
  KaiGang gang;
  const json::value* const spec = Find(group, "spec");
  if (spec == nullptr) return gang;
  gang.min_member = FindInt32(*spec, "minMember", 1);
  gang.min_sub_group = FindInt32(*spec, "minSubGroup", -1);
  const json::value* const list = Find(*spec, "subGroups");
  if (list == nullptr || !list->is_array()) return gang;
  for (const json::value& one : list->get_array()) {
    gang.sub_groups.push_back({.name = std::string(FindString(one, "name")),
                               .parent = std::string(FindString(one, "parent")),
                               .min_member = FindInt32(one, "minMember", 0),
                               .min_sub_group = FindInt32(one, "minSubGroup", -1)});
  }
  return gang;
}

bool KaiGang::IsInner(std::string_view name) const {
  return std::any_of(sub_groups.begin(), sub_groups.end(), [name](const SubGroup& one) { return one.parent == name; });
}

bool KaiGang::HasLeaf(std::string_view leaf) const {
  if (sub_groups.empty()) return leaf == kDefaultLeaf;
  return std::any_of(sub_groups.begin(), sub_groups.end(),
                     [&](const SubGroup& one) { return one.name == leaf && !IsInner(leaf); });
}

bool KaiGang::AreChildrenSatisfied(std::string_view parent, int minimum, const std::map<std::string, int>& pods) const {
  int children = 0;
  int satisfied = 0;
  for (const SubGroup& one : sub_groups) {
    if (one.parent != parent) continue;
    ++children;
    if (IsInner(one.name)) {
      satisfied += AreChildrenSatisfied(one.name, one.min_sub_group, pods) ? 1 : 0;
      continue;
    }
    const auto found = pods.find(one.name);
    satisfied += (found == pods.end() ? 0 : found->second) >= one.min_member ? 1 : 0;
  }
  return satisfied >= (minimum < 0 ? children : minimum);
}

bool KaiGang::IsSatisfied(const std::map<std::string, int>& pods) const {
  if (!sub_groups.empty()) return AreChildrenSatisfied("", min_sub_group, pods);
  const auto found = pods.find(std::string(kDefaultLeaf));
  return (found == pods.end() ? 0 : found->second) >= min_member;
}

// ---- pods and groups ----

KaiGangs::KaiGangs(std::set<std::string> scheduler_names, std::function<void()> on_change)
    : scheduler_names_(std::move(scheduler_names)), on_change_(std::move(on_change)) {
  pods_listener_.object = [this](const json::value& object) { OnPod(object); };
  pods_listener_.gone = [this](const ObjectName& gone) { OnPodGone(gone); };
  groups_listener_.object = [this](const json::value& object) { OnGroup(object); };
  groups_listener_.gone = [this](const ObjectName& gone) { OnGroupGone(gone); };
}

std::string KaiGangs::KeyOf(std::string_view space, std::string_view name) {
  return std::string(space) + "/" + std::string(name);
}

void KaiGangs::Count(const Pod& pod, int sign) {
  if (!pod.counts || pod.group.empty()) return;
  groups_[pod.group].pods[pod.sub_group] += sign;
  on_change_();
}

void KaiGangs::OnPod(const json::value& object) {
  if (!scheduler_names_.contains(std::string(TextAt(object, {"spec"}, "schedulerName")))) return;
  const std::string space(TextAt(object, {"metadata"}, "namespace"));
  Pod& known = pods_[KeyOf(space, TextAt(object, {"metadata"}, "name"))];
  Pod next;
  const std::string_view group = TextAt(object, {"metadata", "annotations"}, kube::kKaiGroupNameKey);
  if (!group.empty()) next.group = KeyOf(space, group);
  const std::string_view sub_group = TextAt(object, {"metadata", "labels"}, kube::kKaiSubGroupNameKey);
  next.sub_group = sub_group.empty() ? KaiGang::kDefaultLeaf : sub_group;
  const std::string_view phase = TextAt(object, {"status"}, "phase");
  next.counts =
      phase != "Succeeded" && phase != "Failed" && FindPath(object, {"metadata", "deletionTimestamp"}) == nullptr;
  Count(known, -1);
  known = std::move(next);
  Count(known, +1);
}

void KaiGangs::OnPodGone(const ObjectName& gone) {
  const auto known = pods_.find(KeyOf(gone.space, gone.name));
  if (known == pods_.end()) return;
  Count(known->second, -1);
  pods_.erase(known);
}

void KaiGangs::OnGroup(const json::value& object) {
  Group& group = groups_[KeyOf(TextAt(object, {"metadata"}, "namespace"), TextAt(object, {"metadata"}, "name"))];
  group.exists = true;
  group.gang = KaiGang::Of(object);
  on_change_();
}

void KaiGangs::OnGroupGone(const ObjectName& gone) {
  const auto known = groups_.find(KeyOf(gone.space, gone.name));
  if (known != groups_.end()) known->second.exists = false;
}

bool KaiGangs::MayBind(const std::string& space, const std::string& name) const {
  const auto pod = pods_.find(KeyOf(space, name));
  if (pod == pods_.end()) return true;
  const auto group = groups_.find(pod->second.group);
  return group != groups_.end() && group->second.exists && group->second.gang.HasLeaf(pod->second.sub_group) &&
         group->second.gang.IsSatisfied(group->second.pods);
}

}  // namespace basalt::actors
