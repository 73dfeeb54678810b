// Volcano's queues, as far as groups of plain pods in the compat profile depend on them.
#include <algorithm>
#include <utility>

#include "common/kube/names.h"
#include "services/pgsvc/control/pod_group_controller.h"

namespace basalt::pgsvc {

// A queue that opens lets groups through that admission refused before (weakness W9). Its counts, which change with
// every pod group of the cluster, do not.
void PodGroupController::OnQueue(const kube::v1::Queue& queue, bool gone) {
  const QueueIndex::Change change = gone ? queues_.Erase(queue.meta().name()) : queues_.Set(queue);
  for (const std::string& name : change.concerned) {
    for (const std::string& key : queue_dependents_.Of(name)) context_.Wake(key);
  }
  if (!change.concerned.empty()) rich_groups_.OnQueues(change.concerned);
  if (!change.has_new_state) return;
  rich_groups_.RetryFailed();
  for (const std::string& key : failing_) {
    Group& group = *groups_.Find(key);
    group.retry.Postpone(absl::InfinitePast());
    group.owner.retry().Postpone(absl::InfinitePast());
    context_.Wake(key);
  }
}

std::string PodGroupController::WhyQueuePlacesNothing(const kube::v1::PodGroup& group,
                                                      std::set<std::string>& asked) const {
  const std::string_view named = group.spec().queue();
  return pgsvc::WhyQueuePlacesNothing(named.empty() ? kube::kDefaultQueue : named, [&](std::string_view queue) {
    asked.insert(std::string(queue));
    return queues_.Find(queue);
  });
}

void PodGroupController::CheckQueue(const std::string& key, Group& group) {
  std::set<std::string> asked;
  std::string why;
  if (group.observed != nullptr && !group.pods.empty()) why = WhyQueuePlacesNothing(*group.observed, asked);
  queue_dependents_.Set(key, std::move(asked));
  if (group.queue_problem.Take(why, context_.ApiNow())) {
    const auto& pods = group.pods.all();
    const auto first = std::find_if(pods.begin(), pods.end(), [](const auto& pod) { return IsActive(pod.second); });
    if (first != pods.end()) RecordOnPod(key, group, first->second, "PodGroupWarning", why);
  }
  if (group.queue_problem.due() != absl::InfiniteFuture()) context_.WakeAt(key, group.queue_problem.due());
}

}  // namespace basalt::pgsvc
