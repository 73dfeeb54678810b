// What clients that watch are told of queues, which is recorded with the slot.
#include <utility>

#include "common/base/slots.h"
#include "common/base/status_macros.h"
#include "common/runtime/slots/damage.h"
#include "common/watch/state_hash.h"
#include "services/queuesvc/control/queue_controller.h"

namespace basalt::queuesvc {
namespace {

// Of all that a queue's message says.
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

void QueueController::ForEachShown(uint32_t slot,
                                   const std::function<void(const std::string&, const runtime::Shown&)>& visit) const {
  for (const std::string& name : queues_.KeysOf(slot)) {
    const QueueEntry* const entry = entries_.Find(name);
    visit(name, entry == nullptr ? runtime::Shown() : entry->shown);
  }
}

void QueueController::PublishState(const std::string& name, QueueEntry& entry, kv::WriteBatch& batch) {
  const uint32_t slot = SlotOf(name);
  const kube::v1::Queue* const queue = queues_.Find(name);
  if (queue == nullptr) {
    return publisher_.PublishEnd(slot, name, std::exchange(entry.shown_uid, ""), entry.shown, batch);
  }
  entry.shown_uid = queue->meta().uid();
  publisher_.PublishIfChanged(slot, name, ShownStateOf(*queue, entry.pod_groups.counts()),
                              {queue->meta().uid(), queue->meta().resource_version()}, entry.shown, batch);
}

absl::Status QueueController::LoadShown(uint32_t slot) {
  kv::Damage damage;
  const auto load = [&](const std::string& name, const storage::v1::ShownObject& record) {
    if (SlotOf(name) != slot) return;
    QueueEntry& entry = entries_.FindOrMake(name);
    entry.shown = runtime::ShownOf(record);
    entry.shown_uid = record.uid();
    context_.Wake(name);  // It may be gone.
  };
  BASALT_RETURN_IF_ERROR(publisher_.OpenOrBeginAnew(context_.store(), slot, context_.SlotEpoch(slot), load, damage));
  runtime::ReportDamage(damage, registry_);
  return absl::OkStatus();
}

}  // namespace basalt::queuesvc
