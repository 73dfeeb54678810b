// What QueueController hears of queues and their pod groups, and its passes.
#include "services/queuesvc/control/queue_controller.h"

#include <utility>

#include "common/base/slots.h"
#include "common/base/status_macros.h"
#include "common/kube/names.h"

namespace basalt::queuesvc {

QueueController::QueueController(runtime::Context& context, obs::Metrics* metrics, QueueControllerOptions options)
    : context_(context),
      registry_(metrics),
      metrics_(metrics),
      options_(options),
      records_(context.store(), metrics, options.history_limits),
      publisher_(context.random()) {}

QueueController::~QueueController() {
  if (history_timer_ != kNoTimer) context_.loop().Cancel(history_timer_);
}

absl::StatusOr<std::vector<runtime::KnownObject>> QueueController::OpenSlot(uint32_t slot) {
  entries_.Open(slot);
  for (const std::string_view name : {kube::kRootQueue, kube::kDefaultQueue}) {
    if (SlotOf(name) == slot && IsMade(name)) context_.Wake(name);
  }
  for (const std::string& name : queues_.KeysOf(slot)) context_.Wake(name);
  const auto load = [this](const std::string& name, storage::v1::QueueRecord record) {
    entries_.FindOrMake(name).record = std::move(record);
    context_.Wake(name);  // It may be gone.
  };
  BASALT_RETURN_IF_ERROR(records_.Load(slot, load));
  if (history_timer_ == kNoTimer) AgeHistoryLater();
  return LoadShown(slot);
}

void QueueController::CloseSlot(uint32_t slot) {
  for (const std::string& name : entries_.KeysOf(slot)) metrics_.Remove(name);
  entries_.Close(slot);
  records_.Close(slot);
  publisher_.Close(slot);
}

void QueueController::OnState(std::string_view routing_key, const std::string&, kube::v1::Object&& object) {
  if (object.has_pod_group()) {
    const kube::v1::PodGroup& group = object.pod_group();
    entries_.FindOrMake(routing_key).pod_groups.Set(group.meta().uid(), group.phase());
  } else if (object.has_queue()) {
    const QueueEntry* const entry = entries_.Find(routing_key);
    if (entry != nullptr && entry->gone_uid == object.queue().meta().uid()) return;
    OnShared(std::string(kube::kWatchQueues), object, false);  // The answer to a write of ours.
  }
}

void QueueController::OnGone(std::string_view routing_key, const runtime::Gone& gone) {
  QueueEntry* const entry = entries_.Find(routing_key);
  if (entry == nullptr) return;
  entry->pod_groups.Erase(gone.uid);
  if (gone.uid == entry->shown_uid) entry->is_awaited = false;
}

void QueueController::OnShared(const std::string&, const kube::v1::Object& object, bool gone) {
  if (!object.has_queue()) return;
  const kube::v1::Queue& queue = object.queue();
  const std::string& name = queue.meta().name();
  const bool owned = Owns(name);
  const kube::v1::Queue* const known = queues_.Find(name);
  QueueEntry* const entry = owned ? entries_.Find(name) : nullptr;
  if (entry != nullptr && (!gone || entry->shown_uid == queue.meta().uid())) entry->is_awaited = false;
  if (entry != nullptr && gone) entry->gone_uid = queue.meta().uid();
  if (!gone) {
    if (known != nullptr && known->meta().resource_version() > queue.meta().resource_version()) return;
    queues_.FindOrMake(name) = queue;
  } else if (known != nullptr && known->meta().uid() == queue.meta().uid()) {
    // Whatever its version: an answer to a write of ours may be newer than the last state that watches have told.
    queues_.Erase(name);
    if (owned) metrics_.Remove(name);  // Else the series are another worker's.
  }
  if (owned) context_.Wake(name);
}

bool QueueController::IsMade(std::string_view name) const {
  return options_.create_default_queues && (name == kube::kRootQueue || name == kube::kDefaultQueue);
}

QueueStep QueueController::NextStepOf(std::string_view name, const QueueEntry& entry) const {
  return NextStep({.name = name,
                   .queue = queues_.Find(name),
                   .is_made = IsMade(name) && !entry.is_awaited,
                   .pod_groups = entry.pod_groups.total(),
                   .counts = options_.publish_counts ? &entry.pod_groups.counts() : nullptr});
}

std::optional<absl::Time> QueueController::HeldUntil(const QueueEntry& entry) const {
  const absl::Time now = context_.ApiNow();
  if (entry.retry.Blocks(now)) return entry.retry.until();
  const bool waits = entry.step.kind == QueueStep::Kind::kApplyStatus && StillWaits(now, entry.next_publish);
  return waits ? std::optional(entry.next_publish) : std::nullopt;
}

void QueueController::Decide(std::string_view key, kv::WriteBatch& batch) {
  QueueEntry& entry = entries_.FindOrMake(key);
  entry.step = NextStepOf(key, entry);
  entry.held_until = HeldUntil(entry);
  entry.is_sent = !entry.write_in_flight && !entry.held_until;
  if (!entry.is_awaited) {
    const absl::Status recorded =
        records_.Update(std::string(key), queues_.Find(key), options_.publish_counts, context_.ApiNow(), entry, batch);
    if (!recorded.ok()) context_.Fail(recorded);
  }
  PublishState(std::string(key), entry, batch);
}

void QueueController::Act(std::string_view key) {
  publisher_.Tell();
  const std::string name(key);
  QueueEntry& entry = entries_.FindOrMake(key);
  const bool exists = queues_.Find(key) != nullptr;
  if (exists) metrics_.Show(name, entry.pod_groups.counts());
  if (entry.write_in_flight) return;
  const bool is_over =
      !exists && !entry.is_awaited && entry.step.kind == QueueStep::Kind::kNothing && entry.pod_groups.total() == 0;
  if (is_over) return entries_.Erase(key);
  if (entry.is_sent) return SendStep(name, entry);
  if (entry.held_until) context_.WakeAt(name, *entry.held_until);
}

const storage::v1::QueueRecord* QueueController::RecordOf(std::string_view name) const {
  const QueueEntry* const entry = entries_.Find(name);
  return entry == nullptr || entry->record.uid().empty() ? nullptr : &entry->record;
}

std::optional<queue::v1::Queue> QueueController::Find(std::string_view name) const {
  const kube::v1::Queue* const queue = Owns(name) ? queues_.Find(name) : nullptr;
  if (queue == nullptr) return std::nullopt;
  return MessageOf(name, *queue);
}

queue::v1::Queue QueueController::MessageOf(std::string_view name, const kube::v1::Queue& queue) const {
  queue::v1::Queue message;
  *message.mutable_object() = queue;
  const QueueEntry* const entry = entries_.Find(name);
  if (entry != nullptr) *message.mutable_pod_groups() = entry->pod_groups.counts();
  return message;
}

}  // namespace basalt::queuesvc
