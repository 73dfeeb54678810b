// Decides which replicas are members: which are attached, which are waited for, and how long.
#include <algorithm>

#include "gateway/ownership/ownership.h"

namespace basalt::gateway {

void Ownership::Leave(const v1::Member& member) {
  const auto it = replicas_.find({member.service(), member.replica()});
  if (it != replicas_.end() && it->second.member.incarnation() == member.incarnation()) it->second.leaving = true;
}

bool Ownership::IsPresent(v1::ServiceKind service, const std::string& replica) const {
  return replicas_.contains({service, replica});
}

bool Ownership::AnybodyStays(v1::ServiceKind service) const {
  return std::any_of(replicas_.begin(), replicas_.end(), [service](const auto& entry) {
    return entry.first.first == service && entry.second.attached && !entry.second.leaving;
  });
}

bool Ownership::IsLeaving(v1::ServiceKind service, const std::string& replica) const {
  const auto it = replicas_.find({service, replica});
  return it != replicas_.end() && it->second.leaving;
}

std::pair<int, int> Ownership::Attached(v1::ServiceKind service) const {
  int attached = 0;
  for (const auto& [key, replica] : replicas_) attached += key.first == service && replica.attached ? 1 : 0;
  const auto expected = options_.expected.find(service);
  return {attached, expected == options_.expected.end() ? 0 : expected->second};
}

void Ownership::Expire(absl::Time now) {
  std::erase_if(replicas_, [&](const auto& entry) {
    const Replica& replica = entry.second;
    // A replica that is no member has nothing to come back to.
    if (replica.attached || (replica.active && replica.since + options_.grace > now)) return false;
    expired_.push_back(replica.member.service());
    return true;
  });
}

absl::Time Ownership::FormationEnd(int service, absl::Time first) const {
  const auto [attached, expected] = Attached(static_cast<v1::ServiceKind>(service));
  if (expected == 0) return first + options_.formation;
  return attached >= expected ? absl::InfinitePast() : first + options_.grace;
}

void Ownership::Activate(int service, absl::Time now) {
  bool any_active = false;
  const bool anybody_stays = AnybodyStays(static_cast<v1::ServiceKind>(service));
  absl::Time first = absl::InfiniteFuture();
  for (const auto& [key, replica] : replicas_) {
    if (key.first != service) continue;
    any_active |= replica.active;
    first = std::min(first, replica.since);
  }
  if (!any_active && (first == absl::InfiniteFuture() || FormationEnd(service, first) > now)) return;
  for (auto& [key, replica] : replicas_) {
    if (key.first == service) replica.active = !replica.leaving || !anybody_stays;
  }
}

v1::Assignment Ownership::Wanted() const {
  v1::Assignment wanted;
  for (const auto& [key, replica] : replicas_) {
    if (replica.active) *wanted.add_members() = replica.member;
  }
  return wanted;
}

absl::Time Ownership::NextDeadline() const {
  absl::Time deadline = next_overdue_;
  for (int service = 1; service <= kServiceKinds; ++service) {
    bool any_active = false;
    absl::Time first = absl::InfiniteFuture();
    for (const auto& [key, replica] : replicas_) {
      if (key.first != service) continue;
      any_active |= replica.active;
      first = std::min(first, replica.since);
      if (!replica.attached) deadline = std::min(deadline, replica.since + options_.grace);
    }
    if (!any_active && first != absl::InfiniteFuture()) deadline = std::min(deadline, FormationEnd(service, first));
  }
  return deadline;
}

}  // namespace basalt::gateway
