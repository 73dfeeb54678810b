#include "services/pgsvc/control/compat/compat_warnings.h"

#include <algorithm>
#include <utility>

#include "common/kube/names.h"
#include "common/obs/log.h"
#include "services/pgsvc/control/pod_event.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {

CompatWarnings::CompatWarnings(runtime::Context& context, const QueueIndex& queues, const SlotMap<CompatGroup>& groups)
    : context_(context),
      queues_(queues),
      groups_(groups),
      recorder_(context, [this](const std::string& scope, const std::string& uid) { return EventsOf(scope, uid); }) {}

void CompatWarnings::ReportMissing(const GroupRef& ref, CompatGroup& group) {
  if (group.observed != nullptr || group.is_awaited) return group.missing.Forget();
  const std::string maker = group.Maker();
  const auto waits = [&](const kube::v1::Pod& pod) {
    return maker.empty() ? WaitsForGroup(pod, ref.name) : NeedsGroup(pod) && pod.node_name().empty();
  };
  const std::string why = maker.empty() ? WhyItWaits(kube::kGroupNameKey, ref.name) : WhyItIsLeftTo(maker);
  for (const kube::v1::Pod* const pod : group.missing.PodsToWarn(group.pods.all(), waits, context_.ApiNow())) {
    RecordOnPod(ref.scope, group, *pod, "PodGroupMissing", why);
  }
  if (group.missing.due() != absl::InfiniteFuture()) context_.WakeAt(ref.scope, group.missing.due());
}

std::string CompatWarnings::WhyQueuePlacesNothing(const kube::v1::PodGroup& group,
                                                  std::set<std::string>& queues) const {
  const std::string_view named = group.spec().queue();
  return pgsvc::WhyQueuePlacesNothing(named.empty() ? kube::kDefaultQueue : named, [&](std::string_view queue) {
    queues.insert(std::string(queue));
    return queues_.Find(queue);
  });
}

void CompatWarnings::CheckQueue(const GroupRef& ref, CompatGroup& group) {
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

runtime::ObjectEvents* CompatWarnings::EventsOf(const std::string& scope, const std::string& pod_uid) const {
  CompatGroup* const group = groups_.Find(scope);
  if (group == nullptr) return nullptr;
  const auto events = group->pod_events.find(pod_uid);
  return events == group->pod_events.end() ? nullptr : &events->second;
}

bool CompatWarnings::RecordOnPod(const std::string& scope, CompatGroup& group, const kube::v1::Pod& pod,
                                 std::string_view reason, std::string_view message) {
  return recorder_.Record(scope, group.pod_events[pod.uid()], WarningOn(pod, reason, message));
}

void CompatWarnings::ReportOnPod(const std::string& scope, CompatGroup& group, const kube::v1::Pod& pod,
                                 std::string_view message) {
  if (!RecordOnPod(scope, group, pod, "PodGroupError", message)) return;
  obs::LogWarning("pod group cannot be made", {{"group", scope}, {"pod", pod.name()}, {"why", std::string(message)}});
}

}  // namespace basalt::pgsvc
