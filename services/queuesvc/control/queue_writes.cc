// How QueueController carries a step out, and what becomes of its write.
#include <utility>

#include "common/obs/log.h"
#include "services/queuesvc/control/queue_controller.h"
#include "services/queuesvc/core/queue_requests.h"

namespace basalt::queuesvc {

void QueueController::Carry(const std::string& name, QueueEntry& entry, const QueueStep& step) {
  const kube::v1::Queue* const queue = queues_.Find(name);
  switch (step.kind) {
    case QueueStep::Kind::kNothing:
      return;
    case QueueStep::Kind::kInvalid:
      return obs::LogWarning("queue state is invalid", {{"queue", name}, {"state", queue->state()}});
    case QueueStep::Kind::kCreate:
      return Send(name, entry, MakeCreateRequest(name));
    case QueueStep::Kind::kSetParent:
      return Send(name, entry, MakeParentRequest(queue->meta()));
    case QueueStep::Kind::kApplyStatus:
      break;
  }
  const absl::Time now = context_.ApiNow();
  if (StillWaits(now, entry.next_publish)) return context_.WakeAt(name, entry.next_publish);
  entry.next_publish = now + options_.publish_interval;
  const queue::v1::PodGroupCounts* const counts = options_.publish_counts ? &entry.pod_groups.counts() : nullptr;
  Send(name, entry, MakeStatusRequest(name, step.state, counts));
}

void QueueController::Send(const std::string& name, QueueEntry& entry, gateway::v1::WriteRequest request) {
  entry.write_in_flight = true;
  context_.Write(name, std::move(request), [this, name](const runtime::WriteOutcome& outcome) {
    if (QueueEntry* const written = entries_.Find(name); written != nullptr) OnWritten(*written, name, outcome);
  });
}

void QueueController::OnWritten(QueueEntry& entry, const std::string& name, const runtime::WriteOutcome& outcome) {
  entry.write_in_flight = false;
  if (outcome.kind == runtime::WriteOutcome::Kind::kDone || runtime::IsNameTaken(outcome)) {
    return entry.retry.Succeed();
  }
  // Everything here is derived from state again: a lost answer or a conflict is simply looked at once more.
  entry.next_publish = absl::InfinitePast();
  entry.retry.Fail(context_.ApiNow(), context_.random());
  context_.WakeAt(name, entry.retry.until());
  obs::LogWarning("write of a queue failed", {{"queue", name},
                                              {"reason", outcome.error.reason()},
                                              {"error", outcome.error.message()},
                                              {"status", outcome.status.ToString()}});
}

}  // namespace basalt::queuesvc
