#include "services/queuesvc/control/queue_records.h"

#include <utility>

#include "common/base/slots.h"
#include "common/base/status_macros.h"
#include "common/runtime/slots/damage.h"
#include "services/queuesvc/core/check_queue_spec.h"
#include "services/queuesvc/core/queue_account.h"

namespace basalt::queuesvc {
namespace {

// Adds the queue to the index, through which its history is found by its name.
void Index(const kube::v1::ObjectMeta& queue, int64_t now_ms, kv::WriteBatch& batch) {
  QueueHistories::Begin(SlotOf(queue.name()), queue.name(), queue.uid(),
                        queue.creation_ms() != 0 ? queue.creation_ms() : now_ms, batch);
}

}  // namespace

absl::Status QueueRecords::Load(uint32_t slot, const Visit& visit) {
  kv::Damage damage;
  BASALT_RETURN_IF_ERROR(ForEachQueue(store_, slot, visit, damage));
  return runtime::DropDamaged(store_, damage, metrics_);
}

absl::Status QueueRecords::Update(const std::string& name, const kube::v1::Queue* queue, const std::string& circle,
                                  absl::Time now, QueueEntry& entry, kv::WriteBatch& batch) {
  const int64_t now_ms = absl::ToUnixMillis(now);
  const uint32_t slot = SlotOf(name);
  storage::v1::QueueRecord& record = entry.record;
  const bool has_ended = !record.uid().empty() && (queue == nullptr || queue->meta().uid() != record.uid());
  QueueAnswer answer = std::exchange(entry.answer, {});
  if (has_ended) {
    BASALT_RETURN_IF_ERROR(End(name, now_ms, entry, batch));
    answer = {.created_uid = answer.created_uid};
  }
  if (queue == nullptr) return absl::OkStatus();
  const kube::v1::ObjectMeta& meta = queue->meta();
  const bool is_new = record.uid().empty();
  if (is_new) {
    record.set_uid(meta.uid());
    record.set_state(queue->state());
    Index(meta, now_ms, batch);
  }
  QueueAccount account(record, entry.pod_groups.counts(), now_ms);
  if (answer.created_uid == meta.uid()) account.NoteCreated();
  if (answer.refused) account.NoteRefused(*answer.refused);
  if (answer.accepted) account.NoteAccepted();
  const bool is_other = std::exchange(entry.checked_version, meta.resource_version()) != meta.resource_version();
  if (std::exchange(entry.checked_circle, circle) != circle || is_other) {
    account.NoteSpec(QueueSpecWarning(*queue, circle));
  }
  account.See(*queue);
  if (!entry.write_in_flight) {
    account.Decide(entry.step, entry.is_sent);
    if (entry.step.kind == QueueStep::Kind::kEndCommand) account.EndCommand(entry.step, *entry.command);
  }
  account.KeepEndedOf([&entry](const std::string& uid) { return entry.commands.Has(uid); });
  for (const auto& added : account.entries()) BASALT_RETURN_IF_ERROR(PutEntry(*queue, added, entry, batch));
  for (const auto& known : account.replaced()) QueueHistories::Put(slot, record.uid(), known, batch);
  entry.new_entries = account.entries();
  if (is_new || account.changed()) PutQueue(slot, name, record, batch);
  return absl::OkStatus();
}

absl::Status QueueRecords::PutEntry(const kube::v1::Queue& queue, const storage::v1::QueueHistoryRecord& added,
                                    QueueEntry& entry, kv::WriteBatch& batch) {
  const uint32_t slot = SlotOf(queue.meta().name());
  QueueHistories::Put(slot, entry.record.uid(), added, batch);
  // The index travels behind the record when the slot moves, and may have been lost on the way.
  if (!entry.history_count) Index(queue.meta(), added.time_ms(), batch);
  kv::Damage damage;
  BASALT_RETURN_IF_ERROR(history_.Trim(slot, entry.record.uid(), entry.history_count, batch, damage));
  return runtime::DropDamaged(store_, damage, metrics_);
}

absl::Status QueueRecords::End(const std::string& name, int64_t now_ms, QueueEntry& entry, kv::WriteBatch& batch) {
  const uint32_t slot = SlotOf(name);
  BASALT_RETURN_IF_ERROR(history_.End(slot, name, entry.record.uid(), now_ms, batch));
  DropQueue(slot, name, batch);
  entry.record = {};
  entry.events = {};
  entry.history_count.reset();
  return absl::OkStatus();
}

absl::Status QueueRecords::Age(uint32_t slot, const std::set<std::string>& present, absl::Time now) {
  kv::WriteBatch batch;
  kv::Damage damage;
  BASALT_RETURN_IF_ERROR(history_.retention().Trim(slot, present, now, batch, damage));
  runtime::ReportDamage(damage, metrics_);  // The batch repairs it.
  return batch.empty() ? absl::OkStatus() : store_.Write(batch);
}

absl::StatusOr<std::vector<storage::v1::HistoryIndexRecord>> QueueRecords::QueuesOf(std::string_view name) const {
  return history_.ObjectsOf(SlotOf(name), name);
}

absl::StatusOr<std::vector<storage::v1::QueueHistoryRecord>> QueueRecords::EntriesOf(std::string_view name,
                                                                                     std::string_view uid) {
  kv::Damage damage;
  BASALT_ASSIGN_OR_RETURN(auto entries, history_.Read(SlotOf(name), uid, &damage));
  BASALT_RETURN_IF_ERROR(runtime::DropDamaged(store_, damage, metrics_));
  return entries;
}

}  // namespace basalt::queuesvc
