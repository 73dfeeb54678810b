// Tracks which replicas have records of a slot: where the newest are, and which are of past ownerships.
#include <algorithm>

#include "common/rpc/held_slots.h"
#include "gateway/ownership/ownership.h"

namespace basalt::gateway {

void Ownership::NoteRecords(v1::ServiceKind service, uint32_t i) {
  Slot& slot = slots_[service - 1][i];
  const auto it = replicas_.find({service, slot.owner.replica});
  if (it == replicas_.end() || !it->second.keeps_records) return;
  slot.records_epoch = slot.owner.epoch;
  if (it->second.held.empty()) {
    it->second.held.assign(kSlotCount, 0);
    it->second.history = it->second.held;
  }
  it->second.held[i] = slot.owner.epoch;
  it->second.history[i] = 0;
}

void Ownership::Cleared(const v1::OrphanedRecords& leftovers) {
  const v1::Member& source = leftovers.source();
  const auto it = replicas_.find({source.service(), source.replica()});
  if (it == replicas_.end() || it->second.held.empty()) return;
  if (it->second.member.incarnation() != source.incarnation()) return;
  rpc::ForEachHeldSlot(leftovers.inventory(), [&](uint32_t slot, int64_t epoch, bool) {
    if (slot >= kSlotCount) return;
    for (std::vector<int64_t>* epochs : {&it->second.held, &it->second.history}) {
      if ((*epochs)[slot] == epoch) (*epochs)[slot] = 0;
    }
  });
}

bool Ownership::HadRecords(v1::ServiceKind service, uint32_t i) const {
  const Slot& slot = Get(service, i);
  const auto owner = replicas_.find({service, slot.owner.replica});
  return owner != replicas_.end() && owner->second.keeps_records && (slot.restored || slot.records_epoch > 0);
}

bool Ownership::Holds(const v1::Member& member, uint32_t slot) const {
  const auto it = replicas_.find({member.service(), member.replica()});
  return it != replicas_.end() && it->second.HistoryOf(slot) != 0;
}

std::vector<Ownership::Leftover> Ownership::FindLeftovers(v1::ServiceKind service, uint32_t i) const {
  std::vector<Leftover> leftovers;
  const Slot& slot = Get(service, i);
  // Other records are orphaned only once the owner's own records are the newest.
  if (slot.owner.epoch == 0 || slot.records_epoch != slot.owner.epoch) return leftovers;
  for (auto it = replicas_.lower_bound({service, ""}); it != replicas_.end() && it->first.first == service; ++it) {
    const Replica& replica = it->second;
    const int64_t epoch = replica.attached ? replica.HistoryOf(i) : 0;
    if (epoch != 0 && !slot.owner.SameProcess(replica.member)) leftovers.push_back({replica.member, epoch});
  }
  return leftovers;
}

Ownership::Source Ownership::FindSource(v1::ServiceKind service, uint32_t i) const {
  const Slot& slot = Get(service, i);
  Source source;
  const Replica* holder = nullptr;
  bool awaited = false;
  for (auto it = replicas_.lower_bound({service, ""}); it != replicas_.end() && it->first.first == service; ++it) {
    const Replica& replica = it->second;
    awaited |= replica.awaited;
    if (replica.held.empty() || replica.held[i] == 0 || replica.held[i] <= source.epoch) continue;
    const int64_t held = replica.held[i];
    if (slot.owner.SameProcess(replica.member) && held == slot.owner.epoch) return {slot.owner.replica, held, false};
    // Owners after the one that is known to have stored records may have stored some, which are then newer.
    if (held < slot.records_epoch || held >= slot.owner.epoch) continue;
    const std::pair<std::string, int64_t> from(replica.member.replica(), held);
    if (std::find(slot.lost.begin(), slot.lost.end(), from) != slot.lost.end()) continue;
    source = {replica.member.replica(), held, false};
    holder = &replica;
  }
  const bool certain = holder != nullptr && source.epoch == slot.records_epoch && slot.records_epoch > 0;
  source.wait = holder == nullptr ? awaited : !holder->attached || (awaited && !certain);
  return source;
}

}  // namespace basalt::gateway
