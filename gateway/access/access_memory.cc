#include "gateway/access/access_memory.h"

#include <fmt/format.h>

#include <utility>

namespace basalt::gateway {

namespace {

std::string Moved(std::string_view uid, std::string_view key) { return fmt::format("{} {}", uid, key); }

}  // namespace

void AccessMemory::Recent::Put(std::string key, std::string_view value, absl::Time now) {
  order_.emplace_back(now, key);
  entries_.insert_or_assign(std::move(key), Entry{std::string(value), now});
  while (order_.front().first + age_ <= now || order_.size() > kMost) {
    const auto oldest = entries_.find(order_.front().second);
    // A newer value of the same key may have been put since.
    if (oldest != entries_.end() && oldest->second.at == order_.front().first) entries_.erase(oldest);
    order_.pop_front();
  }
}

const std::string* AccessMemory::Recent::Find(const std::string& key, absl::Time now) const {
  const auto found = entries_.find(key);
  return found != entries_.end() && now < found->second.at + age_ ? &found->second.value : nullptr;
}

void AccessMemory::JobGone(std::string_view key, std::string_view uid, absl::Time now) {
  gone_.Put(std::string(key), uid, now);
}

std::string AccessMemory::GoneUid(std::string_view key, absl::Time now) const {
  const std::string* const uid = gone_.Find(std::string(key), now);
  return uid == nullptr ? std::string() : *uid;
}

void AccessMemory::ObjectMoved(std::string_view uid, std::string_view key, absl::Time now) {
  moved_.Put(Moved(uid, key), "", now);
}

bool AccessMemory::WasOf(std::string_view uid, std::string_view key, absl::Time now) const {
  return moved_.Find(Moved(uid, key), now) != nullptr;
}

void AccessMemory::ObjectSeen(std::string_view uid, std::string_view job_uid) {
  if (uid.empty() || job_uid.empty()) return;
  if (!owners_.insert_or_assign(std::string(uid), std::string(job_uid)).second) return;
  owners_order_.emplace_back(uid);
  if (owners_order_.size() <= kMost) return;
  owners_.erase(owners_order_.front());
  owners_order_.pop_front();
}

bool AccessMemory::IsOwned(std::string_view uid, std::string_view job_uid) const {
  const auto found = owners_.find(std::string(uid));
  return !job_uid.empty() && found != owners_.end() && found->second == job_uid;
}

}  // namespace basalt::gateway
