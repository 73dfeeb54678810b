// Publishes the groups of the compat profile.
#include <utility>

#include "common/base/slots.h"
#include "common/kube/group_profile.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "services/pgsvc/control/compat/compat_groups.h"
#include "services/pgsvc/control/shown_state.h"

namespace basalt::pgsvc {

bool CompatGroups::IsThere(std::string_view scope, const CompatGroup& group) {
  if (group.observed != nullptr) return true;
  return !group.is_awaited && group.Maker().empty() && group.pods.FirstLacking(kube::SplitKey(scope).name) != nullptr;
}

bool CompatGroups::IsUnwanted(const CompatGroup& group) {
  return group.observed == nullptr && !group.is_awaited && group.pods.empty() && group.calls.empty() && !group.busy &&
         group.links.under_way.empty();
}

void CompatGroups::DropIfUnwanted(const std::string& scope) {
  const CompatGroup& group = *groups_.Find(scope);
  if (!IsUnwanted(group)) return;
  if (group.is_gone || group.record.has_notes() || group.published.revision != 0) return context_.Wake(scope);
  writes_.Forget(scope);
  if (!group.owner.is_shown()) groups_.Erase(scope);
}

void CompatGroups::Decide(std::string_view scope, kv::WriteBatch& batch) {
  CompatGroup* const group = groups_.Find(scope);
  if (group == nullptr) return;
  const GroupPublisher::View view = {
      .observed = group->observed.get(),
      .is_there = IsThere(scope, *group),
      .is_unwanted = IsUnwanted(*group),
      .state = PublishedStateOf(group->observed.get(), group->pods.size(), group->retry)};
  publisher_.Record(SlotOf(scope), std::string(scope), view, *group, batch);
}

std::optional<podgroup::v1::PodGroup> CompatGroups::Show(std::string_view scope, std::string_view name) const {
  const CompatGroup* const group = groups_.Find(scope);
  if (group == nullptr || !IsThere(scope, *group)) return std::nullopt;
  return GroupPublisher::Show(scope, name, group->observed.get(), group->pods.size(), *group);
}

const kube::v1::Pod* CompatGroups::FindPod(const CompatGroup& group, std::string_view pod_name) {
  for (const auto& [uid, pod] : group.pods.all()) {
    if (pod.name() == pod_name) return &pod;
  }
  return nullptr;
}

std::string_view CompatGroups::GroupOf(std::string_view scope, std::string_view pod_name) const {
  const CompatGroup* const group = groups_.Find(scope);
  return group == nullptr || FindPod(*group, pod_name) == nullptr ? std::string_view() : kube::SplitKey(scope).name;
}

void CompatGroups::ForEachPublished(uint32_t slot, const runtime::VisitObject& visit) const {
  for (const std::string& scope : groups_.KeysOf(slot)) {
    CompatGroup& group = *groups_.Find(scope);
    const bool is_seen = IsThere(scope, group);
    if (is_seen || group.is_awaited) visit(scope, group.published, is_seen);
  }
}

void CompatGroups::AddPublishedKeys(uint32_t slot, std::set<std::string>& keys) const {
  const SlotMap<CompatGroup>::Keys& scopes = groups_.KeysOf(slot);
  keys.insert(scopes.begin(), scopes.end());
}

void CompatGroups::LoadPublished(uint32_t slot, const std::string& published_key,
                                 const storage::v1::PublishedObject& record, std::vector<runtime::KnownObject>& known) {
  if (SlotOf(published_key) != slot) return;
  CompatGroup& group = groups_.FindOrMake(published_key);
  GroupPublisher::Load(record, group);
  if (!group.is_awaited) return context_.Wake(published_key);  // The pods decide whether the group is wanted.
  const auto [ns, name] = kube::SplitKey(published_key);
  known.push_back({std::string(kube::kWatchPodGroups), published_key, record.uid(), std::string(ns), std::string(name),
                   record.resource_version()});
}

void CompatGroups::VisitFrom(std::string_view ns, std::string_view name, const VisitGroup& visit) const {
  for (auto group = groups_.lower_bound(ns.empty() ? std::string() : kube::ObjectKey(ns, name)); group != groups_.end();
       ++group) {
    if (!visit(group->first, std::string(kube::SplitKey(group->first).name))) return;
  }
}

}  // namespace basalt::pgsvc
