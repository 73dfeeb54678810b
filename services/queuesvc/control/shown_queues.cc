// The states of queues that are published to watching clients, and that are recorded with the slot.
#include <utility>

#include "common/base/slots.h"
#include "common/base/status_macros.h"
#include "common/kube/names.h"
#include "common/runtime/slots/damage.h"
#include "common/watch/state_hash.h"
#include "services/queuesvc/control/queue_controller.h"

namespace basalt::queuesvc {
namespace {

// Covers everything that a queue's message contains.
uint64_t ShownStateOf(const kube::v1::Queue& queue, const queue::v1::PodGroupCounts& counts) {
  watch::StateHash state;
  state.Add(queue.meta().uid()).Add(static_cast<uint64_t>(queue.meta().resource_version()));
  for (const int32_t count :
       {counts.pending(), counts.inqueue(), counts.running(), counts.unknown(), counts.completed()}) {
    state.Add(static_cast<uint64_t>(count));
  }
  return state.value();
}

}  // namespace

void QueueController::ForEachShown(uint32_t slot, const runtime::VisitObject& visit) {
  runtime::Shown never;
  for (const std::string& name : tree_.queues().KeysOf(slot)) {
    QueueEntry* const entry = entries_.Find(name);
    visit(name, entry == nullptr ? never : entry->shown, /*is_seen=*/true);
  }
  for (const std::string& name : entries_.KeysOf(slot)) {
    QueueEntry& entry = *entries_.Find(name);
    if (entry.is_awaited) visit(name, entry.shown, /*is_seen=*/false);
  }
}

void QueueController::PublishState(const std::string& name, QueueEntry& entry, kv::WriteBatch& batch) {
  const uint32_t slot = SlotOf(name);
  const kube::v1::Queue* const queue = tree_.Find(name);
  if (queue == nullptr) {
    if (entry.is_awaited) return;
    return publisher_.PublishEnd(slot, name, std::exchange(entry.shown_uid, ""), entry.shown, batch);
  }
  entry.shown_uid = queue->meta().uid();
  publisher_.PublishIfChanged(slot, name, ShownStateOf(*queue, entry.pod_groups.counts()),
                              {queue->meta().uid(), queue->meta().resource_version()}, entry.shown, batch);
}

absl::StatusOr<std::vector<runtime::KnownObject>> QueueController::LoadShown(uint32_t slot) {
  std::vector<runtime::KnownObject> known;
  kv::Damage damage;
  const auto load = [&](const std::string& name, const storage::v1::PublishedObject& record) {
    if (SlotOf(name) != slot) return;
    QueueEntry& entry = entries_.FindOrMake(name);
    entry.shown = runtime::ShownOf(record);
    entry.shown_uid = record.uid();
    context_.Wake(name);  // Another queue may have the name by now.
    if (tree_.Find(name) != nullptr) return;
    entry.is_awaited = true;
    known.push_back({std::string(kube::kWatchQueues), name, record.uid(), "", name, record.resource_version()});
  };
  BASALT_RETURN_IF_ERROR(publisher_.OpenOrBeginAnew(context_.store(), slot, context_.SlotEpoch(slot), load, damage));
  runtime::ReportDamage(damage, metrics_);
  return known;
}

}  // namespace basalt::queuesvc
