// Shows people the state of the hub: members, slots, moves under way, watches.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "gateway/server/hub.h"

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

}  // namespace

void Hub::GetTopology(v1::GetTopologyRequest request, rpc::Done<v1::Topology> done) {
  loop_.Post([this, alive = alive_, slots_of = request.slots_of(), done = std::move(done)]() mutable {
    if (!*alive) return;
    v1::Topology topology = MakeTopology();
    if (leads() && slots_of >= 1 && slots_of <= kServiceKinds) AddSlots(slots_of, topology);
    done(std::move(topology));
  });
}

v1::Topology Hub::MakeTopology() const {
  v1::Topology topology;
  if (leads()) topology.set_epoch(ownership_->assignment().epoch());
  topology.set_slot_count(kSlotCount);
  topology.set_gateway(options_.replica);
  topology.set_version(options_.version);
  topology.set_leads(leads());
  topology.set_leader(leader_);
  topology.set_leader_address(leader_address_);
  if (leads()) AddMoves(topology);
  for (const auto& [key, replica] : replicas_) {
    v1::MemberStatus& status = *topology.add_members();
    *status.mutable_member() = replica->member;
    status.set_version(replica->version);
    *status.mutable_protocols() = replica->protocols;
    uint32_t owned = 0;
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < kSlotCount; ++i) {
      if (slots_[key.first - 1][i].owner != replica.get()) continue;
      ++owned;
      waiting += IsOpen(static_cast<v1::ServiceKind>(key.first), i) ? 0 : 1;
    }
    status.set_slots(owned);
    status.set_waiting_slots(waiting);
    status.set_leaving(leads() && ownership_->IsLeaving(replica->member.service(), key.second));
    if (const Session* session = SessionOf(*replica)) {
      status.set_attached(true);
      status.set_lag_ms(absl::ToInt64Milliseconds(session->Lag()));
      status.set_sent_sequence(session->sent_sequence());
      status.set_acknowledged_sequence(session->acknowledged_sequence());
      status.set_dirty_keys(session->dirty_keys());
    }
  }
  for (const WatchInfo& info : cache_.watches()) {
    v1::WatchStatus& status = *topology.add_watches();
    status.set_watch(info.id);
    status.set_state(info.state);
    status.set_resource_version(info.resource_version);
    status.set_objects(info.objects);
  }
  return topology;
}

void Hub::AddMoves(v1::Topology& topology) const {
  std::map<std::tuple<int, std::string, std::string, int>, v1::Move> moves;
  for (int service = 1; service <= kServiceKinds; ++service) {
    const auto kind = static_cast<v1::ServiceKind>(service);
    for (uint32_t i = 0; i < kSlotCount; ++i) {
      const Ownership::Slot& owned = ownership_->Get(kind, i);
      const v1::Move::Stage stage = StageOf(owned.state);
      if (stage == v1::Move::STAGE_UNSPECIFIED || owned.target.replica.empty()) continue;
      const std::string& from = owned.state == SlotState::kReleasing ? owned.owner.replica : owned.source;
      v1::Move& move = moves[{service, from, owned.target.replica, stage}];
      move.set_service(kind);
      move.set_from(from);
      move.set_to(owned.target.replica);
      move.set_stage(stage);
      move.set_slots(move.slots() + 1);
      move.set_since_ms(std::max(move.since_ms(), absl::ToInt64Milliseconds(loop_.Now() - owned.since)));
    }
  }
  for (auto& [key, move] : moves) *topology.add_moves() = std::move(move);
}

void Hub::AddSlots(v1::ServiceKind service, v1::Topology& topology) const {
  for (uint32_t i = 0; i < kSlotCount; ++i) {
    const Ownership::Slot& owned = ownership_->Get(service, i);
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

}  // namespace basalt::gateway
