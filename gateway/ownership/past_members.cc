#include "gateway/ownership/past_members.h"

#include <algorithm>
#include <string_view>

#include "common/base/slots.h"

namespace basalt::gateway {
namespace {

template <typename A, typename B>
bool SameNames(const A& a, const B& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return static_cast<int>(x.service()) == static_cast<int>(y.service()) && x.replica() == y.replica();
  });
}

template <typename Members>
PastMembers::Owners OwnersAmong(const Members& members, int service) {
  PastMembers::Owners owners;
  for (const auto& member : members) {
    if (static_cast<int>(member.service()) == service) owners.names.push_back(member.replica());
  }
  owners.by_slot = RendezvousOwners({owners.names.begin(), owners.names.end()});
  return owners;
}

}  // namespace

void PastMembers::Restore(const storage::v1::AssignmentRecord& saved) {
  past_ = {saved.past().begin(), saved.past().end()};
}

void PastMembers::Add(const v1::Assignment& before, const storage::v1::AssignmentRecord& record) {
  storage::v1::AssignmentRecord::Past past;
  past.set_last_epoch(record.epoch() - 1);
  past.set_unknown(before.epoch() == 0);
  if (past.last_epoch() == 0 || (!past.unknown() && SameNames(before.members(), record.members()))) return;
  for (const v1::Member& member : before.members()) {
    auto& kept = *past.add_members();
    kept.set_service(member.service());
    kept.set_replica(member.replica());
  }
  past_.push_back(std::move(past));
  size_t bytes = 0;
  for (const auto& one : past_) bytes += one.ByteSizeLong();
  for (; bytes > kMostBytes; past_.pop_front()) bytes -= past_.front().ByteSizeLong();
}

void PastMembers::Save(storage::v1::AssignmentRecord& record) const {
  for (const auto& past : past_) *record.add_past() = past;
}

PastMembers::Owners PastMembers::OwnersAt(const v1::Assignment& now, v1::ServiceKind service, int64_t epoch) const {
  if (now.epoch() == 0) return {.unknown = true, .names = {}, .by_slot = {}};
  const auto then =
      std::find_if(past_.begin(), past_.end(), [epoch](const auto& past) { return epoch <= past.last_epoch(); });
  if (then == past_.end()) return OwnersAmong(now.members(), service);
  if (then->unknown()) return {.unknown = true, .names = {}, .by_slot = {}};
  return OwnersAmong(then->members(), service);
}

}  // namespace basalt::gateway
