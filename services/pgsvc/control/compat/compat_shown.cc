// Publishes the groups of the compat profile, and warns their pods.
#include <algorithm>
#include <utility>

#include "common/base/slots.h"
#include "common/kube/group_profile.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "common/obs/log.h"
#include "services/pgsvc/control/compat/compat_groups.h"
#include "services/pgsvc/control/pod_event.h"
#include "services/pgsvc/control/shown_state.h"
#include "services/pgsvc/core/empty_group.h"

namespace basalt::pgsvc {

bool CompatGroups::IsThere(std::string_view scope, const CompatGroup& group) {
  if (group.observed != nullptr) return true;
  return !group.is_awaited && MakerFor(group).empty() && group.pods.FirstLacking(kube::SplitKey(scope).name) != nullptr;
}

bool CompatGroups::IsUnwanted(const CompatGroup& group) {
  return group.observed == nullptr && !group.is_awaited && group.pods.empty() && group.calls.empty() && !group.busy &&
         group.links.under_way.empty();
}

void CompatGroups::DropIfUnwanted(const std::string& scope) {
  const CompatGroup& group = *groups_.Find(scope);
  if (!IsUnwanted(group)) return;
  if (group.is_gone || group.record.has_notes() || group.published.revision != 0) return context_.Wake(scope);
  failing_.erase(scope);
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

// ---- warnings ----

void CompatGroups::ReportMissing(const GroupRef& ref, CompatGroup& group) {
  if (group.observed != nullptr || group.is_awaited) return group.missing.Forget();
  const std::string maker = MakerFor(group);
  const auto waits = [&](const kube::v1::Pod& pod) {
    return maker.empty() ? WaitsForGroup(pod, ref.name) : NeedsGroup(pod) && pod.node_name().empty();
  };
  const std::string why = maker.empty() ? WhyItWaits(kube::kGroupNameKey, ref.name) : WhyItIsLeftTo(maker);
  for (const kube::v1::Pod* const pod : group.missing.PodsToWarn(group.pods.all(), waits, context_.ApiNow())) {
    RecordOnPod(ref.scope, group, *pod, "PodGroupMissing", why);
  }
  if (group.missing.due() != absl::InfiniteFuture()) context_.WakeAt(ref.scope, group.missing.due());
}

std::string CompatGroups::WhyQueuePlacesNothing(const kube::v1::PodGroup& group, std::set<std::string>& queues) const {
  const std::string_view named = group.spec().queue();
  return pgsvc::WhyQueuePlacesNothing(named.empty() ? kube::kDefaultQueue : named, [&](std::string_view queue) {
    queues.insert(std::string(queue));
    return queues_.Find(queue);
  });
}

void CompatGroups::CheckQueue(const GroupRef& ref, CompatGroup& group) {
  std::set<std::string> queues;
  std::string why;
  if (group.observed != nullptr && !group.pods.empty()) why = WhyQueuePlacesNothing(*group.observed, queues);
  queue_dependents_.Set(ref.scope, std::move(queues));
  if (group.queue_problem.Take(why, context_.ApiNow())) {
    const auto& pods = group.pods.all();
    const auto first = std::find_if(pods.begin(), pods.end(), [](const auto& pod) { return IsActive(pod.second); });
    if (first != pods.end()) RecordOnPod(ref.scope, group, first->second, "PodGroupWarning", why);
  }
  if (group.queue_problem.due() != absl::InfiniteFuture()) context_.WakeAt(ref.scope, group.queue_problem.due());
}

runtime::ObjectEvents* CompatGroups::EventsOf(const std::string& scope, const std::string& pod_uid) const {
  CompatGroup* const group = groups_.Find(scope);
  if (group == nullptr) return nullptr;
  const auto events = group->pod_events.find(pod_uid);
  return events == group->pod_events.end() ? nullptr : &events->second;
}

bool CompatGroups::RecordOnPod(const std::string& scope, CompatGroup& group, const kube::v1::Pod& pod,
                               std::string_view reason, std::string_view message) {
  return recorder_.Record(scope, group.pod_events[pod.uid()], WarningOn(pod, reason, message));
}

void CompatGroups::ReportOnPod(const std::string& scope, CompatGroup& group, const kube::v1::Pod& pod,
                               std::string_view message) {
  if (!RecordOnPod(scope, group, pod, "PodGroupError", message)) return;
  obs::LogWarning("pod group cannot be made", {{"group", scope}, {"pod", pod.name()}, {"why", std::string(message)}});
}

}  // namespace basalt::pgsvc
