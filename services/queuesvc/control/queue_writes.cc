#include "services/queuesvc/control/queue_writes.h"

#include <fmt/format.h>

#include <utility>

#include "common/kube/requests.h"
#include "common/obs/log.h"
#include "common/reconcile/effect.h"
#include "services/queuesvc/core/queue_requests.h"

namespace basalt::queuesvc {

// Requires: nothing was observed since the pass decided.
void QueueWrites::Send(const std::string& name, QueueEntry& entry) {
  const kube::v1::Queue* const queue = tree_.Find(name);
  switch (entry.step.kind) {
    case QueueStep::Kind::kNothing:
      return;
    case QueueStep::Kind::kInvalid:
      return obs::LogWarning("queue state is invalid", {{"queue", name}, {"state", queue->state()}});
    case QueueStep::Kind::kCreate:
      return Start(name, entry, MakeCreateRequest(name));
    case QueueStep::Kind::kSetParent:
      return Start(name, entry, MakeParentRequest(queue->meta()));
    case QueueStep::Kind::kSetClosedByParent:
      return Start(name, entry, MakeClosedByParentRequest(queue->meta(), entry.step.closed_by_parent));
    case QueueStep::Kind::kEndCommand:
      return Start(name, entry, MakeCommandDeletion(entry.command->meta()));
    case QueueStep::Kind::kApplyState:
    case QueueStep::Kind::kApplyCounts:
      break;
  }
  entry.next_publish = context_.ApiNow() + publish_interval_;
  const bool is_state = entry.step.kind == QueueStep::Kind::kApplyState;
  Start(name, entry,
        is_state ? MakeStateRequest(*queue, entry.step.state) : MakeCountsRequest(name, entry.pod_groups.counts()));
}

void QueueWrites::Start(const std::string& name, QueueEntry& entry, gateway::v1::WriteRequest request) {
  entry.write_in_flight = true;
  const bool ends_command = entry.step.kind == QueueStep::Kind::kEndCommand;
  const std::string command = ends_command ? request.delete_().uid() : std::string();
  const int64_t version = request.patch().resource_version();
  context_.Write(name, std::move(request),
                 [this, name, sent = entry.step, counts = entry.pod_groups.counts(), command,
                  version](runtime::WriteOutcome outcome) {
                   QueueEntry* const written = entries_.Find(name);
                   if (written == nullptr) return;
                   written->write_in_flight = false;
                   if (sent.kind == QueueStep::Kind::kEndCommand) {
                     return OnCommandDeleted(name, *written, command, outcome);
                   }
                   if (version != 0 && AnswerOf(outcome) == Answer::kConflict) {
                     return OnOutdated(name, *written, sent.kind, version);
                   }
                   OnWritten(name, *written, sent, counts, std::move(outcome));
                 });
}

void QueueWrites::OnCommandDeleted(const std::string& name, QueueEntry& entry, const std::string& uid,
                                   const runtime::WriteOutcome& outcome) {
  const Answer answer = AnswerOf(outcome);
  Retry& retry = entry.RetryOf(QueuePart::kCommand);
  if (answer != Answer::kDone && answer != Answer::kNotFound) return TryAgain(name, retry);
  entry.commands.MarkDeleted(uid);
  retry.Succeed();
}

void QueueWrites::TryAgain(const std::string& name, Retry& retry) {
  retry.Fail(context_.ApiNow(), context_.random());
  context_.WakeAt(name, retry.until());
}

void QueueWrites::OnOutdated(const std::string& name, QueueEntry& entry, QueueStep::Kind sent, int64_t version) {
  entry.outdated.Record(version);
  if (IsOfStatus(sent)) entry.next_publish = absl::InfinitePast();
  context_.Get(name, kube::GetOf(kube::kQueues, "", name),
               [this, name, sent, version](const absl::StatusOr<gateway::v1::GetResponse>& answer) {
                 OnRead(name, sent, version, answer);
               });
}

void QueueWrites::OnRead(const std::string& name, QueueStep::Kind sent, int64_t version,
                         const absl::StatusOr<gateway::v1::GetResponse>& answer) {
  if (answer.ok() && answer->has_object()) context_.MergeAnswer(name, answer->object(), /*gone=*/false);
  QueueEntry* const entry = entries_.Find(name);
  const kube::v1::Queue* const queue = tree_.Find(name);
  if (entry == nullptr || !entry->outdated.Blocks(version)) return;
  entry->outdated.Forget();
  if (queue != nullptr && queue->meta().resource_version() == version) TryAgain(name, entry->RetryOf(PartOf(sent)));
}

void QueueWrites::OnWritten(const std::string& name, QueueEntry& entry, const QueueStep& sent,
                            const queue::v1::PodGroupCounts& counts, runtime::WriteOutcome outcome) {
  const QueuePart part = PartOf(sent.kind);
  Retry& retry = entry.RetryOf(part);
  if (outcome.kind == runtime::WriteOutcome::Kind::kDone) {
    if (sent.kind == QueueStep::Kind::kCreate) entry.answer.created_uid = outcome.object.queue().meta().uid();
    if (!outcome.object.has_queue() || IsKept(sent, counts, outcome.object.queue())) {
      retry.Succeed();
      entry.answer.accepted = !entry.refused || entry.refused == part;
      return;
    }
    outcome.kind = runtime::WriteOutcome::Kind::kRefused;
    outcome.error.set_code(200);
    outcome.error.set_reason("NotKept");
    outcome.error.set_message(
        fmt::format("{}: taken, and not kept: the definition of queues does not know the field, or a policy drops it",
                    WrittenBy(sent)));
  }
  // Everything here is derived from the observed state: after a lost answer the next pass simply looks at it once more.
  if (IsOfStatus(sent.kind)) entry.next_publish = absl::InfinitePast();
  TryAgain(name, retry);
  if (runtime::IsNameTaken(outcome)) return;  // The watch will report the queue; this is no error.
  obs::LogWarning("write of a queue failed", {{"queue", name},
                                              {"reason", outcome.error.reason()},
                                              {"error", outcome.error.message()},
                                              {"status", outcome.status.ToString()}});
  if (!runtime::ShouldReportToUser(outcome)) return;
  // Report one refusal at a time. Two that both last would otherwise replace each other for ever and fill the history.
  // A refused state or mark wins; else the first one stays.
  const bool other_is_reported = entry.refused && entry.refused != part && entry.RetryOf(*entry.refused).since();
  if (other_is_reported && part != QueuePart::kState) return;
  entry.refused = part;
  entry.answer.refused = std::move(outcome.error);
}

}  // namespace basalt::queuesvc
