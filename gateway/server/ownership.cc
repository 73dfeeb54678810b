#include "gateway/server/ownership.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "common/base/status.h"

namespace basalt::gateway {
namespace {

bool SameMembers(const v1::Assignment& a, const v1::Assignment& b) {
  return std::equal(a.members().begin(), a.members().end(), b.members().begin(), b.members().end(),
                    [](const v1::Member& x, const v1::Member& y) {
                      return x.service() == y.service() && x.replica() == y.replica() &&
                             x.incarnation() == y.incarnation() && x.address() == y.address();
                    });
}

bool IsService(int service) { return service >= 1 && service <= kServiceKinds; }

}  // namespace

void Ownership::Attach(const v1::Member& member, int64_t last_epoch, absl::Time now) {
  highest_seen_ = std::max(highest_seen_, last_epoch);
  Replica& replica = replicas_[{member.service(), member.replica()}];
  replica.member = member;
  replica.attached = true;
  replica.since = now;
  if (!IsService(member.service())) return;
  for (Slot& slot : slots_[member.service() - 1]) slot.released |= slot.replica == member.replica();
}

void Ownership::Detach(const v1::Member& member, absl::Time now) {
  const auto it = replicas_.find({member.service(), member.replica()});
  if (it == replicas_.end() || it->second.member.incarnation() != member.incarnation()) return;
  it->second.attached = false;
  it->second.since = now;
}

void Ownership::Release(const v1::Member& member, const v1::Released& released) {
  if (!IsService(member.service()) || released.epoch() < assignment_.epoch()) return;
  for (const uint32_t slot : released.slots()) {
    if (slot >= kSlotCount) continue;
    Slot& state = slots_[member.service() - 1][slot];
    if (state.replica == member.replica() && state.incarnation == member.incarnation()) state.released = true;
  }
}

bool Ownership::IsPresent(v1::ServiceKind service, const std::string& replica) const {
  return replicas_.contains({service, replica});
}

void Ownership::Expire(absl::Time now) {
  std::erase_if(replicas_, [&](const auto& entry) {
    const Replica& replica = entry.second;
    // A spare has nothing to come back to.
    return !replica.attached && (!replica.active || replica.since + options_.grace <= now);
  });
}

void Ownership::Activate(int service, absl::Time now) {
  bool any_active = false;
  absl::Time first = absl::InfiniteFuture();
  for (const auto& [key, replica] : replicas_) {
    if (key.first != service) continue;
    any_active |= replica.active;
    first = std::min(first, replica.since);
  }
  const bool join = any_active ? options_.rebalance : first + options_.formation <= now;
  if (!join) return;
  for (auto& [key, replica] : replicas_) {
    if (key.first == service) replica.active = true;
  }
}

v1::Assignment Ownership::Wanted() const {
  v1::Assignment wanted;
  for (const auto& [key, replica] : replicas_) {
    if (replica.active) *wanted.add_members() = replica.member;
  }
  return wanted;
}

Ownership::Changes Ownership::Settle(absl::Time now) {
  Changes changes;
  Expire(now);
  for (int service = 1; service <= kServiceKinds; ++service) Activate(service, now);
  v1::Assignment wanted = Wanted();
  if (!SameMembers(wanted, assignment_) || highest_seen_ > assignment_.epoch()) {
    wanted.set_epoch(std::max(assignment_.epoch(), highest_seen_) + 1);
    highest_seen_ = wanted.epoch();
    assignment_ = std::move(wanted);
    assigned_at_ = now;
    changes.assignment = true;
  }
  awaits_release_ = false;
  for (int service = 1; service <= kServiceKinds; ++service) SettleSlots(service, now, changes);
  return changes;
}

void Ownership::SettleSlots(int service, absl::Time now, Changes& changes) {
  const bool overdue = now >= assigned_at_ + options_.release_timeout;
  std::vector<std::string_view> names;
  std::vector<const v1::Member*> members;
  for (const v1::Member& member : assignment_.members()) {
    if (member.service() != service) continue;
    names.push_back(member.replica());
    members.push_back(&member);
  }
  const auto kind = static_cast<v1::ServiceKind>(service);
  for (uint32_t i = 0; i < kSlotCount; ++i) {
    Slot& slot = slots_[service - 1][i];
    const v1::Member* target = members.empty() ? nullptr : members[RendezvousOwner(names, i)];
    const std::string& wanted = target ? target->replica() : std::string();
    const bool same_process = target && slot.replica == wanted && slot.incarnation == target->incarnation();
    if (same_process) {
      slot.released = false;
      continue;
    }
    const bool same_replica = slot.replica == wanted;
    if (!same_replica && IsPresent(kind, slot.replica) && !slot.released && !overdue) {
      awaits_release_ = true;
      continue;
    }
    if (same_replica && !target) continue;
    changes.slots.push_back({kind, i, slot.replica});
    slot = Slot{wanted, target ? target->incarnation() : "", assignment_.epoch(), false};
  }
}

absl::Time Ownership::NextDeadline() const {
  absl::Time deadline = awaits_release_ ? assigned_at_ + options_.release_timeout : absl::InfiniteFuture();
  for (int service = 1; service <= kServiceKinds; ++service) {
    bool any_active = false;
    absl::Time first = absl::InfiniteFuture();
    for (const auto& [key, replica] : replicas_) {
      if (key.first != service) continue;
      any_active |= replica.active;
      first = std::min(first, replica.since);
      if (!replica.attached) deadline = std::min(deadline, replica.since + options_.grace);
    }
    if (!any_active && first != absl::InfiniteFuture()) deadline = std::min(deadline, first + options_.formation);
  }
  return deadline;
}

absl::Status Ownership::Check(const v1::Owner& sender) const {
  const v1::Member& member = sender.member();
  if (!IsService(member.service()) || sender.slot() >= kSlotCount) {
    return MakeStatus(absl::StatusCode::kInvalidArgument,
                      fmt::format("owner names service {} and slot {}; slots are 0 to {}",
                                  static_cast<int>(member.service()), sender.slot(), kSlotCount - 1));
  }
  const Slot& slot = Get(member.service(), sender.slot());
  if (!slot.replica.empty() && slot.replica == member.replica() && slot.incarnation == member.incarnation() &&
      slot.epoch == sender.slot_epoch()) {
    return absl::OkStatus();
  }
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    fmt::format("slot {} of {} belongs to {}, not to '{}' ({}) in epoch {}", sender.slot(),
                                v1::ServiceKind_Name(member.service()),
                                slot.replica.empty()
                                    ? std::string("nobody")
                                    : fmt::format("'{}' ({}) in epoch {}", slot.replica, slot.incarnation, slot.epoch),
                                member.replica(), member.incarnation(), sender.slot_epoch()));
}

}  // namespace basalt::gateway
