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
    case QueueStep::Kind::kSetClosedByParent:
      return Send(name, entry, MakeClosedByParentRequest(queue->meta(), entry.step.closed_by_parent));
    case QueueStep::Kind::kEndCommand:
      return Send(name, entry, MakeCommandDeletion(entry.command->meta()));
    case QueueStep::Kind::kApplyStatus:
      break;
  }
  entry.next_publish = context_.ApiNow() + options_.publish_interval;
  const queue::v1::PodGroupCounts* const counts = options_.publish_counts ? &entry.pod_groups.counts() : nullptr;
  Send(name, entry, MakeStatusRequest(*queue, entry.step.state, counts));
}

void QueueController::Send(const std::string& name, QueueEntry& entry, gateway::v1::WriteRequest request) {
  entry.write_in_flight = true;
  const bool ends_command = entry.step.kind == QueueStep::Kind::kEndCommand;
  const std::string command = ends_command ? request.delete_().uid() : std::string();
  context_.Write(name, std::move(request),
                 [this, name, sent = entry.step.kind, command](runtime::WriteOutcome outcome) {
                   QueueEntry* const written = entries_.Find(name);
                   if (written == nullptr) return;
                   if (sent == QueueStep::Kind::kEndCommand) return OnCommandDeleted(name, *written, command, outcome);
                   OnWritten(name, *written, sent, std::move(outcome));
                 });
}

void QueueController::OnCommandDeleted(const std::string& name, QueueEntry& entry, const std::string& uid,
                                       const runtime::WriteOutcome& outcome) {
  entry.write_in_flight = false;
  using Kind = runtime::WriteOutcome::Kind;
  const bool is_gone = outcome.kind == Kind::kDone || (outcome.kind == Kind::kRefused && outcome.error.code() == 404);
  if (is_gone) {
    for (auto& [age, held] : entry.commands) held.is_deleted |= held.command.meta().uid() == uid;
    return entry.deletion_retry.Succeed();
  }
  entry.deletion_retry.Fail(context_.ApiNow(), context_.random());
  context_.WakeAt(name, entry.deletion_retry.until());
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
