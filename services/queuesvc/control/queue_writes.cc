// How QueueController carries a step out, and what becomes of its write.
#include <fmt/format.h>

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
    case QueueStep::Kind::kApplyState:
    case QueueStep::Kind::kApplyCounts:
      break;
  }
  entry.next_publish = context_.ApiNow() + options_.publish_interval;
  const bool is_state = entry.step.kind == QueueStep::Kind::kApplyState;
  Send(name, entry,
       is_state ? MakeStateRequest(*queue, entry.step.state) : MakeCountsRequest(name, entry.pod_groups.counts()));
}

void QueueController::Send(const std::string& name, QueueEntry& entry, gateway::v1::WriteRequest request) {
  entry.write_in_flight = true;
  const bool ends_command = entry.step.kind == QueueStep::Kind::kEndCommand;
  const std::string command = ends_command ? request.delete_().uid() : std::string();
  context_.Write(
      name, std::move(request),
      [this, name, sent = entry.step, counts = entry.pod_groups.counts(), command](runtime::WriteOutcome outcome) {
        QueueEntry* const written = entries_.Find(name);
        if (written == nullptr) return;
        if (sent.kind == QueueStep::Kind::kEndCommand) return OnCommandDeleted(name, *written, command, outcome);
        OnWritten(name, *written, sent, counts, std::move(outcome));
      });
}

void QueueController::OnCommandDeleted(const std::string& name, QueueEntry& entry, const std::string& uid,
                                       const runtime::WriteOutcome& outcome) {
  entry.write_in_flight = false;
  using Kind = runtime::WriteOutcome::Kind;
  const bool is_gone = outcome.kind == Kind::kDone || (outcome.kind == Kind::kRefused && outcome.error.code() == 404);
  if (is_gone) {
    entry.commands.MarkDeleted(uid);
    return entry.deletion_retry.Succeed();
  }
  entry.deletion_retry.Fail(context_.ApiNow(), context_.random());
  context_.WakeAt(name, entry.deletion_retry.until());
}

void QueueController::OnWritten(const std::string& name, QueueEntry& entry, const QueueStep& sent,
                                const queue::v1::PodGroupCounts& counts, runtime::WriteOutcome outcome) {
  entry.write_in_flight = false;
  Retry& retry = entry.RetryOf(sent.kind);
  if (outcome.kind == runtime::WriteOutcome::Kind::kDone) {
    if (sent.kind == QueueStep::Kind::kCreate) entry.answer.created_uid = outcome.object.queue().meta().uid();
    if (!outcome.object.has_queue() || IsKept(sent, counts, outcome.object.queue())) {
      retry.Succeed();
      entry.answer.accepted = entry.refused == nullptr || entry.refused == &retry;
      return;
    }
    outcome.kind = runtime::WriteOutcome::Kind::kRefused;
    outcome.error.set_code(200);
    outcome.error.set_reason("NotKept");
    outcome.error.set_message(
        fmt::format("{}: taken, and not kept: the definition of queues does not know the field, or a policy drops it",
                    WrittenBy(sent)));
  }
  // Everything here is derived from state again: a lost answer or a conflict is simply looked at once more.
  if (IsOfStatus(sent.kind)) entry.next_publish = absl::InfinitePast();
  retry.Fail(context_.ApiNow(), context_.random());
  context_.WakeAt(name, retry.until());
  if (runtime::IsNameTaken(outcome)) return;  // The watch will show the queue; it is no error.
  obs::LogWarning("write of a queue failed", {{"queue", name},
                                              {"reason", outcome.error.reason()},
                                              {"error", outcome.error.message()},
                                              {"status", outcome.status.ToString()}});
  if (!runtime::ShouldReportToUser(outcome)) return;
  // One refusal is told at a time, as of two that last each would end the other for ever: that of a state or a mark, or
  // else the first.
  const bool is_told = entry.refused != nullptr && entry.refused != &retry && entry.refused->since();
  if (is_told && &retry != &entry.retry) return;
  entry.refused = &retry;
  entry.answer.refused = std::move(outcome.error);
}

}  // namespace basalt::queuesvc
