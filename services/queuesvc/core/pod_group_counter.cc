#include "services/queuesvc/core/pod_group_counter.h"

#include <algorithm>
#include <cstddef>

namespace basalt::queuesvc {

PodGroupCounter::Phase PodGroupCounter::ParsePhase(std::string_view text) {
  if (text == "Pending") return Phase::kPending;
  if (text == "Inqueue") return Phase::kInqueue;
  if (text == "Running") return Phase::kRunning;
  if (text == "Unknown") return Phase::kUnknown;
  if (text == "Completed") return Phase::kCompleted;
  return Phase::kOther;
}

void PodGroupCounter::Count(Phase phase, int delta) {
  switch (phase) {
    case Phase::kPending:
      counts_.set_pending(counts_.pending() + delta);
      return;
    case Phase::kInqueue:
      counts_.set_inqueue(counts_.inqueue() + delta);
      return;
    case Phase::kRunning:
      counts_.set_running(counts_.running() + delta);
      return;
    case Phase::kUnknown:
      counts_.set_unknown(counts_.unknown() + delta);
      return;
    case Phase::kCompleted:
      counts_.set_completed(counts_.completed() + delta);
      return;
    case Phase::kOther:  // Indexed, so that it keeps a queue from closing, but not counted (queue spec 6.1-3).
      return;
  }
}

bool PodGroupCounter::Set(const std::string& uid, std::string_view name, std::string_view text) {
  const Phase phase = ParsePhase(text);
  const auto [entry, added] = groups_.try_emplace(uid);
  if (added) {
    entry->second = {phase, std::string(name)};
  } else {
    if (entry->second.phase == phase) return false;
    Count(entry->second.phase, -1);
    entry->second.phase = phase;
  }
  Count(phase, 1);
  return true;
}

bool PodGroupCounter::Erase(const std::string& uid) {
  const auto entry = groups_.find(uid);
  if (entry == groups_.end()) return false;
  Count(entry->second.phase, -1);
  groups_.erase(entry);
  return true;
}

std::vector<std::string> PodGroupCounter::Names(size_t most) const {
  std::vector<std::string> names(std::min(most, groups_.size()));
  std::vector<std::string_view> all;
  all.reserve(groups_.size());
  for (const auto& [uid, group] : groups_) all.push_back(group.name);
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(names.size()), all.end());
  std::copy_n(all.begin(), names.size(), names.begin());
  return names;
}

}  // namespace basalt::queuesvc
