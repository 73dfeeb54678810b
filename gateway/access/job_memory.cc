#include "gateway/access/job_memory.h"

#include <utility>

namespace basalt::gateway {

void JobMemory::JobGone(std::string_view key, std::string_view uid, absl::Time now) {
  gone_.insert_or_assign(std::string(key), Gone{std::string(uid), now});
  gone_order_.emplace_back(now, key);
  while (gone_order_.front().first + kGoneFor <= now || gone_order_.size() > kMost) {
    const auto oldest = gone_.find(gone_order_.front().second);
    // One of the same name may have gone since.
    if (oldest != gone_.end() && oldest->second.at == gone_order_.front().first) gone_.erase(oldest);
    gone_order_.pop_front();
  }
}

std::string JobMemory::GoneUid(std::string_view key, absl::Time now) const {
  const auto found = gone_.find(std::string(key));
  return found != gone_.end() && now < found->second.at + kGoneFor ? found->second.uid : std::string();
}

void JobMemory::ObjectSeen(std::string_view uid, std::string_view job_uid) {
  if (uid.empty() || job_uid.empty()) return;
  if (!owners_.insert_or_assign(std::string(uid), std::string(job_uid)).second) return;
  owners_order_.emplace_back(uid);
  if (owners_order_.size() <= kMost) return;
  owners_.erase(owners_order_.front());
  owners_order_.pop_front();
}

bool JobMemory::IsOwned(std::string_view uid, std::string_view job_uid) const {
  const auto found = owners_.find(std::string(uid));
  return !job_uid.empty() && found != owners_.end() && found->second == job_uid;
}

}  // namespace basalt::gateway
