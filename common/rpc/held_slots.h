#pragma once

// Slots grouped by the epoch of the records that a replica has of them, as Hello and OrphanedRecords carry them. Pure.
#include <algorithm>
#include <cstdint>

#include "basalt/gateway/v1/gateway.pb.h"

namespace basalt::rpc {

using HeldSlotsField = google::protobuf::RepeatedPtrField<gateway::v1::RecordInventory>;

// A field has few groups: one for each epoch in which slots moved.
inline void AddHeldSlot(uint32_t slot, int64_t epoch, bool only_history, HeldSlotsField& field) {
  const auto same = std::find_if(field.rbegin(), field.rend(), [&](const gateway::v1::RecordInventory& held) {
    return held.epoch() == epoch && held.only_history() == only_history;
  });
  gateway::v1::RecordInventory& held = same == field.rend() ? *field.Add() : *same;
  held.set_epoch(epoch);
  held.set_only_history(only_history);
  held.add_slots(slot);
}

// Calls visit(slot, epoch, only_history) for each slot.
template <typename Visit>
void ForEachHeldSlot(const HeldSlotsField& field, const Visit& visit) {
  for (const gateway::v1::RecordInventory& held : field) {
    for (const uint32_t slot : held.slots()) visit(slot, held.epoch(), held.only_history());
  }
}

}  // namespace basalt::rpc
