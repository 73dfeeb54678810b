// Observations of queues, pod groups and Commands, and the passes of QueueController.
#include "services/queuesvc/control/queue_controller.h"

#include <set>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "common/base/status_macros.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "services/queuesvc/core/check_queue_spec.h"
#include "services/queuesvc/core/queue_account.h"
#include "services/queuesvc/core/queue_event.h"

namespace basalt::queuesvc {
QueueController::QueueController(runtime::Context& context, obs::Metrics* metrics, QueueControllerOptions options)
    : context_(context),
      metrics_(metrics),
      options_(options),
      records_(context.store(), metrics, options.history_limits),
      recorder_(context, [this](const std::string& key, const std::string& uid) { return EventsOf(key, uid); }),
      publisher_(context.random()),
      kai_queues_(metrics),
      writes_(context, tree_, entries_, options.publish_interval) {}

QueueController::~QueueController() {
  if (history_timer_ != kNoTimer) context_.loop().Cancel(history_timer_);
}

absl::StatusOr<std::vector<runtime::KnownObject>> QueueController::OpenSlot(uint32_t slot) {
  entries_.Open(slot);
  kai_queues_.Open(slot);
  for (const std::string_view name : {kube::kRootQueue, kube::kDefaultQueue}) {
    if (SlotOf(name) == slot && IsMade(name)) context_.Wake(name);
  }
  for (const std::string& name : tree_.queues().KeysOf(slot)) context_.Wake(name);
  const auto load = [this](const std::string& name, storage::v1::QueueRecord record) {
    entries_.FindOrMake(name).record = std::move(record);
    context_.Wake(name);  // The queue may be gone.
  };
  BASALT_RETURN_IF_ERROR(records_.Load(slot, load));
  if (history_timer_ == kNoTimer) AgeHistoryLater();
  return LoadShown(slot);
}

void QueueController::CloseSlot(uint32_t slot) {
  kai_queues_.Close(slot);
  entries_.Close(slot);
  records_.Close(slot);
  publisher_.Close(slot);
}

void QueueController::OnState(std::string_view routing_key, const std::string&, kube::v1::Object&& object) {
  if (kube::IsKaiQueueKey(routing_key)) return kai_queues_.See(routing_key, std::move(object));
  if (object.has_pod_group()) {
    const kube::v1::PodGroup& group = object.pod_group();
    const std::string group_name = kube::ObjectKey(group.meta().namespace_(), group.meta().name());
    entries_.FindOrMake(routing_key).pod_groups.Set(group.meta().uid(), group_name, group.phase());
  } else if (object.has_command()) {
    entries_.FindOrMake(routing_key).commands.See(std::move(*object.mutable_command()));
  } else if (object.has_queue()) {
    const QueueEntry* const entry = entries_.Find(routing_key);
    if (entry != nullptr && entry->gone_uid == object.queue().meta().uid()) return;
    // This is the answer to a write of this replica.
    OnShared(std::string(kube::kWatchQueues), object, false);
  }
}

void QueueController::OnGone(std::string_view routing_key, const runtime::Gone& gone) {
  if (kube::IsKaiQueueKey(routing_key)) return kai_queues_.Forget(routing_key, gone.uid);
  QueueEntry* const entry = entries_.Find(routing_key);
  if (entry == nullptr) return;
  entry->pod_groups.Erase(gone.uid);
  entry->commands.Forget(gone.uid);
  if (gone.uid == entry->shown_uid) entry->is_awaited = false;
}

void QueueController::OnShared(const std::string&, const kube::v1::Object& object, bool gone) {
  if (!object.has_queue()) return;
  const kube::v1::Queue& queue = object.queue();
  const std::string& name = queue.meta().name();
  const bool owned = Owns(name);
  const kube::v1::Queue* const known = tree_.Find(name);
  QueueEntry* const entry = owned ? entries_.Find(name) : nullptr;
  if (entry != nullptr && (!gone || entry->shown_uid == queue.meta().uid())) entry->is_awaited = false;
  if (entry != nullptr && gone) entry->gone_uid = queue.meta().uid();
  if (!gone) {
    if (known != nullptr && known->meta().resource_version() > queue.meta().resource_version()) return;
    const bool is_other = known == nullptr || known->state() != queue.state();
    if (tree_.Set(queue)) {
      WakeAllBelow(name);
    } else if (is_other) {
      WakeChildren(name);
    }
  } else if (known != nullptr && known->meta().uid() == queue.meta().uid()) {
    // The version does not matter: the answer to a write of ours may be newer than the last state that the watch has
    // reported.
    tree_.Erase(name);
    WakeAllBelow(name);
    if (entry != nullptr) entry->series.reset();
    if (entry != nullptr) entry->ForgetFailures();
  }
  if (owned) context_.Wake(name);
}

runtime::ObjectEvents* QueueController::EventsOf(const std::string& name, const std::string& uid) {
  const kube::v1::Queue* const queue = tree_.Find(name);
  QueueEntry* const entry = entries_.Find(name);
  return entry == nullptr || queue == nullptr || queue->meta().uid() != uid ? nullptr : &entry->events;
}

void QueueController::WakeChildren(std::string_view name) {
  for (const std::string& child : tree_.children().Of(name)) {
    if (Owns(child)) context_.Wake(child);
  }
}

void QueueController::WakeAllBelow(std::string_view name) {
  tree_.ForEachBelow(name, [this](const std::string& below) {
    if (Owns(below)) context_.Wake(below);
  });
}

bool QueueController::IsMade(std::string_view name) const {
  return options_.create_default_queues && (name == kube::kRootQueue || name == kube::kDefaultQueue);
}

QueueStep QueueController::NextStepOf(std::string_view name, const QueueEntry& entry) const {
  const kube::v1::Queue* const queue = tree_.Find(name);
  const kube::v1::Command* const command = entry.command;
  return NextStep({.name = name,
                   .queue = queue,
                   .parent = queue == nullptr ? nullptr : tree_.ParentOf(*queue),
                   .command = command,
                   .command_tried_ms = entry.command_tried_ms,
                   .is_recorded = command != nullptr && QueueAccount::IsEnded(entry.record, *command),
                   .is_superseded = entry.commands.HaveSeveralOpen(entry.record),
                   .now_ms = absl::ToUnixMillis(context_.ApiNow()),
                   .is_made = IsMade(name) && !entry.is_awaited,
                   .is_refused = entry.record.has_refused(),
                   .parent_waits = entry.RetryOf(QueuePart::kParent).Blocks(context_.ApiNow()),
                   .pod_groups = entry.pod_groups.total(),
                   .counts = options_.publish_counts ? &entry.pod_groups.counts() : nullptr});
}

std::optional<absl::Time> QueueController::HeldUntil(const QueueEntry& entry) const {
  const absl::Time now = context_.ApiNow();
  const Retry& retry = entry.RetryOf(PartOf(entry.step.kind));
  if (retry.Blocks(now)) return retry.until();
  const bool waits = IsOfStatus(entry.step.kind) && StillWaits(now, entry.next_publish);
  return waits ? std::optional(entry.next_publish) : std::nullopt;
}

bool QueueController::IsOutdated(std::string_view name, const QueueEntry& entry) const {
  const kube::v1::Queue* const queue = tree_.Find(name);
  return queue != nullptr && NamesVersion(entry.step.kind) && entry.outdated.Blocks(queue->meta().resource_version());
}

void QueueController::Decide(std::string_view key, kv::WriteBatch& batch) {
  if (kube::IsKaiQueueKey(key)) return;  // Such a queue is never written.
  QueueEntry& entry = entries_.FindOrMake(key);
  entry.command = entry.NextCommand(context_.ApiNow());
  if (entry.command != nullptr) {
    const int64_t now_ms = absl::ToUnixMillis(context_.ApiNow());
    entry.command_tried_ms = entry.commands.NoteTried(entry.command->meta().uid(), now_ms);
  }
  entry.step = NextStepOf(key, entry);
  if (entry.step.kind == QueueStep::Kind::kNothing) entry.ForgetFailures();
  // The refused state or mark is in place, or wanted no more: the next Command needs other writes.
  if (entry.step.kind == QueueStep::Kind::kEndCommand) entry.RetryOf(QueuePart::kState) = Retry();
  entry.held_until = HeldUntil(entry);
  entry.is_sent = !entry.write_in_flight && !entry.held_until && !IsOutdated(key, entry);
  if (!entry.is_awaited) {
    const kube::v1::Queue* const queue = tree_.Find(key);
    const std::string circle = queue == nullptr ? std::string() : tree_.CircleOf(*queue);
    const absl::Status recorded = records_.Update(std::string(key), queue, circle, context_.ApiNow(), entry, batch);
    if (!recorded.ok()) context_.Fail(recorded);
  }
  PublishState(std::string(key), entry, batch);
}

void QueueController::Act(std::string_view key) {
  if (kube::IsKaiQueueKey(key)) return;
  publisher_.NotifyListeners();
  const std::string name(key);
  QueueEntry& entry = entries_.FindOrMake(key);
  const bool exists = tree_.Find(key) != nullptr;
  if (exists && metrics_ != nullptr) {
    if (entry.series == nullptr) entry.series = std::make_unique<QueueSeries>(*metrics_, name);
    entry.series->Show(*tree_.Find(key), entry.pod_groups.counts());
  }
  const bool is_over = !exists && !entry.is_awaited && entry.step.kind == QueueStep::Kind::kNothing &&
                       entry.pod_groups.total() == 0 && entry.commands.empty() && !entry.write_in_flight;
  if (is_over) return entries_.Erase(key);
  for (const storage::v1::QueueHistoryRecord& added : std::exchange(entry.new_entries, {})) {
    if (!exists) break;
    std::optional<kube::Event> event = EventOf(added, tree_.Find(key)->meta());
    if (event) recorder_.Record(name, entry.events, *std::move(event));
  }
  // Next() skips an ended Command until its deletion is due. WakeAt() keeps the earliest time, at which a pass asks for
  // the others again.
  const Retry& deletion = entry.RetryOf(QueuePart::kCommand);
  const bool deletes_later = deletion.Blocks(context_.ApiNow()) && !entry.commands.empty();
  if (deletes_later) context_.WakeAt(name, deletion.until());
  if (entry.write_in_flight) return;
  if (LetsCommandWait(entry.step.kind) && entry.command != nullptr) {
    const int64_t until_ms = CommandWaitsUntilMs(entry.command->meta().creation_ms(), entry.command_tried_ms);
    context_.WakeAt(name, absl::FromUnixMillis(until_ms));
  }
  if (entry.is_sent) return writes_.Send(name, entry);
  if (!entry.held_until) return;
  context_.WakeAt(name, *entry.held_until);
  // The end of the Command is recorded, and its deletion is not due yet: nothing else waits for the deletion.
  const bool goes_on =
      entry.step.kind == QueueStep::Kind::kEndCommand && QueueAccount::IsEnded(entry.record, *entry.command);
  if (goes_on) context_.Wake(name);
}

const storage::v1::QueueRecord* QueueController::RecordOf(std::string_view name) const {
  const QueueEntry* const entry = entries_.Find(name);
  return entry == nullptr || entry->record.uid().empty() ? nullptr : &entry->record;
}

std::optional<queue::v1::Queue> QueueController::Find(std::string_view name) const {
  if (kube::IsKaiQueueKey(name)) return kai_queues_.Find(name);
  const kube::v1::Queue* const queue = Owns(name) ? tree_.Find(name) : nullptr;
  if (queue == nullptr) return std::nullopt;
  return MessageOf(name, *queue);
}

std::optional<queue::v1::Queue> QueueController::FindNamed(std::string_view name) const {
  if (std::optional<queue::v1::Queue> queue = Find(name)) return queue;
  const QueueEntry* const entry = entries_.Find(name);
  if (entry == nullptr || entry->is_awaited || entry->pod_groups.total() == 0) return std::nullopt;
  kube::v1::Queue missing;
  missing.mutable_meta()->set_name(std::string(name));
  return MessageOf(name, missing);
}

queue::v1::Queue QueueController::MessageOf(std::string_view name, const kube::v1::Queue& queue) const {
  queue::v1::Queue message;
  *message.mutable_object() = queue;
  message.mutable_object()->clear_lacks_counts();  // For this service alone.
  const QueueEntry* const entry = entries_.Find(name);
  if (entry != nullptr) *message.mutable_pod_groups() = entry->pod_groups.counts();
  return message;
}

}  // namespace basalt::queuesvc
