// How QueueController carries a step out, and what becomes of its write.
#include <utility>

#include "common/obs/log.h"
#include "services/queuesvc/control/queue_controller.h"
#include "services/queuesvc/core/queue_requests.h"

namespace basalt::queuesvc {

// Requires: nothing has been heard since the pass decided.
void QueueController::SendStep(const std::string& name, QueueEntry& entry) {
  const kube::v1::Queue* const queue = queues_.Find(name);
  switch (entry.step.kind) {
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
  entry.next_publish = context_.ApiNow() + options_.publish_interval;
  const queue::v1::PodGroupCounts* const counts = options_.publish_counts ? &entry.pod_groups.counts() : nullptr;
  Send(name, entry, MakeStatusRequest(name, entry.step.state, counts));
}

void QueueController::Send(const std::string& name, QueueEntry& entry, gateway::v1::WriteRequest request) {
  entry.write_in_flight = true;
  context_.Write(name, std::move(request), [this, name, sent = entry.step.kind](runtime::WriteOutcome outcome) {
    if (QueueEntry* const written = entries_.Find(name); written != nullptr) {
      OnWritten(name, *written, sent, std::move(outcome));
    }
  });
}

void QueueController::OnWritten(const std::string& name, QueueEntry& entry, QueueStep::Kind sent,
                                runtime::WriteOutcome outcome) {
  entry.write_in_flight = false;
  if (outcome.kind == runtime::WriteOutcome::Kind::kDone) {
    entry.answer.accepted = true;
    if (sent == QueueStep::Kind::kCreate) entry.answer.created_uid = outcome.object.queue().meta().uid();
    return entry.retry.Succeed();
  }
  // Everything here is derived from state again: a lost answer or a conflict is simply looked at once more.
  entry.next_publish = absl::InfinitePast();
  entry.retry.Fail(context_.ApiNow(), context_.random());
  context_.WakeAt(name, entry.retry.until());
  if (runtime::IsNameTaken(outcome)) return;  // The watch will show the queue; it is no error.
  obs::LogWarning("write of a queue failed", {{"queue", name},
                                              {"reason", outcome.error.reason()},
                                              {"error", outcome.error.message()},
                                              {"status", outcome.status.ToString()}});
  if (runtime::ShouldReportToUser(outcome)) entry.answer.refused = std::move(outcome.error);
}

}  // namespace basalt::queuesvc
