#include "services/queuesvc/core/next_step.h"

#include "common/kube/names.h"

namespace basalt::queuesvc {
namespace {

bool Differ(const kube::v1::Queue& queue, const queue::v1::PodGroupCounts& counts) {
  return queue.pending() != counts.pending() || queue.inqueue() != counts.inqueue() ||
         queue.running() != counts.running() || queue.unknown() != counts.unknown() ||
         queue.completed() != counts.completed();
}

}  // namespace

QueueStep NextStep(const QueueFacts& facts) {
  using Kind = QueueStep::Kind;
  if (facts.queue == nullptr) return {facts.is_made ? Kind::kCreate : Kind::kNothing};
  const kube::v1::Queue& queue = *facts.queue;
  if (queue.meta().deletion_ms() != 0) return {};
  if (facts.name != kube::kRootQueue && queue.parent().empty()) return {Kind::kSetParent};
  const QueueState state = ParseQueueState(queue.state());
  if (state == QueueState::kInvalid) return {Kind::kInvalid};
  const QueueState next = NextState(state, QueueAction::kSync, facts.pod_groups).next;
  const bool says_all = next == state && (facts.counts == nullptr || !Differ(queue, *facts.counts));
  if (says_all) return {};
  return {Kind::kApplyStatus, next};
}

}  // namespace basalt::queuesvc
