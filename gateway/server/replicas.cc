#include "gateway/server/replicas.h"

#include <algorithm>

#include "common/base/slots.h"
#include "gateway/route/routes.h"

namespace basalt::gateway {
namespace {

bool IsSameSecret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace

bool Replica::HasToken(std::string_view text) const { return IsSameSecret(token, text); }
bool Replica::HasNameSecret(std::string_view text) const { return IsSameSecret(name_secret, text); }

Replicas::Replicas(const Cache& cache, size_t tombstone_bytes) : cache_(cache), tombstone_bytes_(tombstone_bytes) {
  for (auto& owners : owners_) owners.resize(kSlotCount);
  for (int i = 0; i < kServiceKinds; ++i) unowned_.emplace_back(tombstone_bytes, Tombstones::OverBound::kForget);
}

Replica* Replicas::Find(int service, const std::string& name) const {
  const auto it = all_.find({service, name});
  return it == all_.end() ? nullptr : it->second.get();
}

Replica& Replicas::FindOrMake(int service, const std::string& name) {
  auto& replica = all_[{service, name}];
  if (!replica) replica = std::make_unique<Replica>(tombstone_bytes_);
  return *replica;
}

size_t Replicas::CountOf(int service) const {
  return std::count_if(all_.begin(), all_.end(), [service](const auto& entry) { return entry.first.first == service; });
}

void Replicas::EraseIf(const std::function<bool(const Replica&)>& is_gone) {
  std::erase_if(all_, [&](const auto& entry) { return is_gone(*entry.second); });
}

void Replicas::Clear(const absl::Status& why) {
  for (const auto& [key, replica] : all_) {
    if (replica->stream != nullptr) std::exchange(replica->stream, nullptr)->End(why);
  }
  for (auto& owners : owners_) std::fill(owners.begin(), owners.end(), nullptr);
  all_.clear();
  for (Tombstones& tombstones : unowned_) tombstones.Clear();
}

bool Replicas::OwnsAny(const Replica& replica) const {
  const std::vector<Replica*>& owners = owners_[replica.member.service() - 1];
  return std::find(owners.begin(), owners.end(), &replica) != owners.end();
}

void Replicas::Move(v1::ServiceKind service, uint32_t slot, Replica* next) {
  Replica*& owner = owners_[service - 1][slot];
  if (owner != nullptr) {
    if (Session* session = owner->session()) session->CloseSlot(slot);
  }
  if (next != owner) {
    Tombstones& unowned = unowned_[service - 1];
    Tombstones& from = owner == nullptr ? unowned : owner->tombstones;
    from.MoveSlot(slot, next == nullptr ? unowned : next->tombstones);
  }
  owner = next;
}

void Replicas::OnState(ObjectId id) {
  if (cache_.IsBroadcastId(id)) {
    for (const auto& [key, replica] : all_) {
      if (Session* session = replica->session()) session->OnState(id);
    }
    return;
  }
  for (int i = 1; i <= kServiceKinds; ++i) {
    const auto service = static_cast<v1::ServiceKind>(i);
    const uint32_t slot = cache_.SlotOfId(id, service);
    if (slot == kNoSlot) continue;
    const Replica* owner = OwnerOf(service, slot);
    if (owner == nullptr) continue;
    if (Session* session = owner->session()) session->OnState(id);
  }
}

void Replicas::OnDeparture(ObjectId id, const Departure& departure, bool keeps_unowned) {
  const auto notify = [&](Replica& replica) {
    const TombstoneKey key = replica.tombstones.Add(departure);
    if (Session* session = replica.session()) session->OnDeparture(id, key);
  };
  if (departure.service == v1::SERVICE_KIND_UNSPECIFIED) {
    for (const auto& [key, replica] : all_) notify(*replica);
  } else if (Replica* owner = OwnerOf(departure.service, departure.slot)) {
    notify(*owner);
  } else if (keeps_unowned) {
    unowned_[departure.service - 1].Add(departure);
  }
}

void Replicas::OnHeldBack(ObjectId id) {
  for (const auto& [key, replica] : all_) {
    if (Session* session = replica->session()) session->OnHeldBack(id);
  }
}

void Replicas::OnWatch(WatchIndex watch) {
  for (const auto& [key, replica] : all_) {
    if (Session* session = replica->session()) session->OnWatch(watch);
  }
}

}  // namespace basalt::gateway
