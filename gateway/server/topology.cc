#include "gateway/server/topology.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "common/base/slots.h"

namespace basalt::gateway {
namespace {

// Returns STAGE_UNSPECIFIED if the slot is not on its way.
v1::Move::Stage StageOf(SlotState state) {
  switch (state) {
    case SlotState::kReleasing:
      return v1::Move::STAGE_RELEASING;
    case SlotState::kDraining:
      return v1::Move::STAGE_DRAINING;
    case SlotState::kWaiting:
      return v1::Move::STAGE_WAITING;
    case SlotState::kHandingOver:
      return v1::Move::STAGE_TRANSFERRING;
    case SlotState::kUnowned:
    case SlotState::kOpen:
      break;
  }
  return v1::Move::STAGE_UNSPECIFIED;
}

void AddMoves(const Ownership& ownership, absl::Time now, v1::Topology& topology) {
  std::map<std::tuple<int, std::string, std::string, int>, v1::Move> moves;
  for (int service = 1; service <= kServiceKinds; ++service) {
    const auto kind = static_cast<v1::ServiceKind>(service);
    for (uint32_t i = 0; i < kSlotCount; ++i) {
      const Ownership::Slot& owned = ownership.Get(kind, i);
      const v1::Move::Stage stage = StageOf(owned.state);
      if (stage == v1::Move::STAGE_UNSPECIFIED || owned.target.replica.empty()) continue;
      const std::string& from = owned.state == SlotState::kReleasing ? owned.owner.replica : owned.source;
      v1::Move& move = moves[{service, from, owned.target.replica, stage}];
      move.set_service(kind);
      move.set_from(from);
      move.set_to(owned.target.replica);
      move.set_stage(stage);
      move.set_slots(move.slots() + 1);
      move.set_since_ms(std::max(move.since_ms(), absl::ToInt64Milliseconds(now - owned.since)));
    }
  }
  for (auto& [key, move] : moves) *topology.add_moves() = std::move(move);
}

void AddSlots(const Ownership& ownership, v1::ServiceKind service, v1::Topology& topology) {
  for (uint32_t i = 0; i < kSlotCount; ++i) {
    const Ownership::Slot& owned = ownership.Get(service, i);
    v1::SlotRange range;
    range.set_first(i);
    range.set_last(i);
    range.set_replica(owned.owner.replica);
    range.set_incarnation(owned.owner.incarnation);
    range.set_epoch(owned.owner.epoch);
    range.set_open(owned.state == SlotState::kOpen);
    if (owned.target.replica != owned.owner.replica) range.set_target(owned.target.replica);
    v1::SlotRange* last = topology.slots_size() == 0 ? nullptr : topology.mutable_slots(topology.slots_size() - 1);
    const bool joins = last != nullptr && last->replica() == range.replica() &&
                       last->incarnation() == range.incarnation() && last->epoch() == range.epoch() &&
                       last->open() == range.open() && last->target() == range.target();
    if (joins) {
      last->set_last(i);
    } else {
      *topology.add_slots() = std::move(range);
    }
  }
}

// Adds the member that has that key.
void AddMember(const TopologySource& source, const Replicas::Key& key, const Replica& replica, v1::Topology& topology) {
  const auto service = static_cast<v1::ServiceKind>(key.first);
  const Leadership& leadership = source.leadership;
  v1::MemberStatus& status = *topology.add_members();
  *status.mutable_member() = replica.member;
  status.set_version(replica.version);
  *status.mutable_protocols() = replica.protocols;
  uint32_t owned = 0;
  uint32_t waiting = 0;
  for (uint32_t i = 0; i < kSlotCount; ++i) {
    if (source.replicas.OwnerOf(service, i) != &replica) continue;
    ++owned;
    waiting += leadership.ownership().Get(service, i).state == SlotState::kOpen ? 0 : 1;
  }
  status.set_slots(owned);
  status.set_waiting_slots(waiting);
  status.set_leaving(leadership.leads() && leadership.ownership().IsLeaving(replica.member.service(), key.second));
  if (const Session* session = replica.session()) {
    status.set_attached(true);
    status.set_lag_ms(absl::ToInt64Milliseconds(session->Lag()));
    status.set_sent_sequence(session->sent_sequence());
    status.set_acknowledged_sequence(session->acknowledged_sequence());
    status.set_dirty_keys(session->dirty_keys());
  }
}

}  // namespace

v1::Topology MakeTopology(const TopologySource& source, const std::string& version, v1::ServiceKind slots_of) {
  const Leadership& leadership = source.leadership;
  v1::Topology topology;
  topology.set_slot_count(kSlotCount);
  topology.set_gateway(leadership.self());
  topology.set_version(version);
  topology.set_leads(leadership.leads());
  topology.set_leader(leadership.leader());
  topology.set_leader_address(leadership.leader_address());
  if (leadership.leads()) {
    topology.set_epoch(leadership.ownership().assignment().epoch());
    AddMoves(leadership.ownership(), source.now, topology);
    if (slots_of >= 1 && slots_of <= kServiceKinds) AddSlots(leadership.ownership(), slots_of, topology);
  }
  for (const auto& [key, replica] : source.replicas.all()) AddMember(source, key, *replica, topology);
  for (const WatchInfo& info : source.cache.watches()) {
    v1::WatchStatus& status = *topology.add_watches();
    status.set_watch(info.id);
    status.set_state(info.state);
    status.set_resource_version(info.resource_version);
    status.set_objects(info.objects);
  }
  return topology;
}

}  // namespace basalt::gateway
