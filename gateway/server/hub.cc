#include "gateway/server/hub.h"

#include <utility>

#include <fmt/format.h>

#include "common/base/status.h"
#include "common/kube/names.h"
#include "common/obs/log.h"
#include "common/rpc/leader_hint.h"
#include "gateway/server/hub_stream.h"

namespace basalt::gateway {
namespace {

void NotifySession(Session& session, const InterestKey& key, std::shared_ptr<const kube::v1::Object> object) {
  session.OnInterest(key, std::move(object));
}

}  // namespace

Hub::Hub(Loop& loop, Random& random, KubeAccess& kube, AssignmentStore& store, obs::Metrics& metrics,
         const std::vector<std::string>& watches, HubOptions options)
    : loop_(loop),
      random_(random),
      kube_(kube),
      store_(store),
      metrics_(metrics),
      options_(std::move(options)),
      cache_(watches, *this, options_.routes),
      interests_(loop, kube, options_.interests, NotifySession),
      owner_interests_(loop, kube, NotifySession) {
  for (auto& slots : slots_) slots.resize(kSlotCount);
  for (int i = 0; i < kServiceKinds; ++i) {
    unowned_.emplace_back(options_.tombstone_bytes, Tombstones::OverBound::kForget);
  }
}

Hub::~Hub() {
  *alive_ = false;
  loop_.Cancel(membership_timer_);
  loop_.Cancel(save_timer_);
  loop_.Cancel(stats_timer_);
}

// ---- leading ----

void Hub::Lead(const storage::v1::AssignmentRecord& saved) {
  ++term_;
  saving_ = false;
  leader_ = options_.replica;
  leader_address_.clear();
  ownership_ = std::make_unique<Ownership>(options_.ownership);
  ownership_->Restore(saved, loop_.Now());
  metrics_.ShowEpoch(saved.epoch());
  for (int service = 1; service <= kServiceKinds; ++service) {
    const auto kind = static_cast<v1::ServiceKind>(service);
    // The owners are away: each gets its former slots when it attaches.
    for (uint32_t i = 0; i < kSlotCount; ++i) {
      const Ownership::SlotHolder& owner = ownership_->Get(kind, i).owner;
      Slot& slot = slots_[service - 1][i];
      slot.owner = nullptr;
      if (slot.in_flight == 0) ownership_->NoteDrained(kind, i);
      if (owner.replica.empty()) continue;
      auto& replica = replicas_[{service, owner.replica}];
      if (!replica) replica = std::make_unique<Replica>(options_.tombstone_bytes);
      slot.owner = replica.get();
    }
  }
  for (const v1::Member& member : ownership_->assignment().members()) {
    const auto known = replicas_.find({member.service(), member.replica()});
    if (known != replicas_.end()) known->second->member = member;
  }
  obs::LogInfo("leading", {{"gateway", options_.replica}, {"epoch", fmt::to_string(saved.epoch())}});
  ReconcileMembership();
}

void Hub::Follow(std::string leader, std::string leader_address) {
  leader_ = std::move(leader);
  leader_address_ = std::move(leader_address);
  if (!leads()) return;
  ++term_;
  obs::LogWarning("leading no more", {{"gateway", options_.replica}, {"leader", leader_}});
  loop_.Cancel(std::exchange(membership_timer_, kNoTimer));
  loop_.Cancel(std::exchange(save_timer_, kNoTimer));
  if (!members_sent_.value_or("").empty()) options_.on_members("");  // This gateway does not report them any more.
  members_sent_.reset();
  ownership_.reset();
  const absl::Status why = CheckLeading();
  for (auto& [key, replica] : replicas_) {
    if (replica->stream != nullptr) std::exchange(replica->stream, nullptr)->End(why);
  }
  for (auto& slots : slots_) {
    for (Slot& slot : slots) slot.owner = nullptr;
  }
  for (const auto& [key, replica] : replicas_) metrics_.RemoveReplica(replica->member);
  replicas_.clear();
  for (Tombstones& tombstones : unowned_) tombstones.Clear();
  kube_.DropUnsent([](const v1::Owner&) { return true; });
}

absl::Status Hub::CheckLeading() const {
  if (leads()) return absl::OkStatus();
  if (leader_.empty()) {
    return MakeStatus(absl::StatusCode::kUnavailable,
                      fmt::format("gateway '{}' does not lead; nobody is known to", options_.replica));
  }
  return rpc::WithLeader(
      MakeStatus(absl::StatusCode::kUnavailable, fmt::format("gateway '{}' does not lead, '{}' at {} does",
                                                             options_.replica, leader_, leader_address_)),
      leader_address_);
}

Session* Hub::SessionOf(Replica& replica) const {
  return replica.stream == nullptr ? nullptr : replica.stream->session_.get();
}

bool Hub::IsOpen(v1::ServiceKind service, uint32_t slot) const {
  return ownership_->Get(service, slot).state == SlotState::kOpen;
}

// ---- fan-out ----

void Hub::OnState(ObjectId id) {
  metrics_.CountState();
  if (cache_.IsBroadcastId(id)) {
    for (auto& [key, replica] : replicas_) {
      if (Session* session = SessionOf(*replica)) session->OnState(id);
    }
    return;
  }
  for (int service = 1; service <= kServiceKinds; ++service) {
    const uint32_t slot = cache_.SlotOfId(id, static_cast<v1::ServiceKind>(service));
    if (slot == kNoSlot) continue;
    Replica* owner = slots_[service - 1][slot].owner;
    if (owner == nullptr) continue;
    if (Session* session = SessionOf(*owner)) session->OnState(id);
  }
}

void Hub::OnDeparture(ObjectId id, const Departure& departure) {
  metrics_.CountDeparture();
  if (departure.service == v1::SERVICE_KIND_JOB && departure.reason == v1::Tombstone::REASON_DELETED &&
      cache_.watches()[departure.watch].id == kube::kWatchJobs) {
    memory_.JobGone(departure.routing_key, departure.uid, loop_.Now());
  }
  if (departure.reason == v1::Tombstone::REASON_LEFT) {
    memory_.ObjectMoved(departure.uid, departure.routing_key, loop_.Now());
  }
  const auto notify = [&](Replica& replica) {
    const TombstoneKey key = replica.tombstones.Add(departure);
    if (Session* session = SessionOf(replica)) session->OnDeparture(id, key);
  };
  if (departure.service == v1::SERVICE_KIND_UNSPECIFIED) {
    for (auto& [key, replica] : replicas_) notify(*replica);
  } else if (Replica* owner = slots_[departure.service - 1][departure.slot].owner) {
    notify(*owner);
  } else if (leads() && ownership_->Get(departure.service, departure.slot).owner.epoch > 0) {
    unowned_[departure.service - 1].Add(departure);  // A replica that knew the object may come back.
  }
}

void Hub::OnHeldBack(ObjectId id) {
  for (auto& [key, replica] : replicas_) {
    if (Session* session = SessionOf(*replica)) session->OnHeldBack(id);
  }
}

void Hub::OnWatch(WatchIndex watch) {
  for (auto& [key, replica] : replicas_) {
    if (Session* session = SessionOf(*replica)) session->OnWatch(watch);
  }
}

// ---- stats ----

void Hub::UpdateStats() {
  stats_timer_ = kNoTimer;
  bool any = false;
  for (auto& [key, replica] : replicas_) {
    const Session* session = SessionOf(*replica);
    any |= session != nullptr;
    metrics_.ShowReplica(replica->member, session, replica->tombstones);
  }
  metrics_.ShowWatches(cache_.watches());
  if (!any) return;
  stats_timer_ = loop_.RunAfter(options_.stats_period, [this, alive = alive_] {
    if (*alive) UpdateStats();
  });
}

}  // namespace basalt::gateway
