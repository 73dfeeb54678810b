#include "services/queuesvc/core/pod_group_counter.h"

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

bool PodGroupCounter::Set(const std::string& uid, std::string_view text) {
  const Phase phase = ParsePhase(text);
  const auto [entry, added] = phases_.try_emplace(uid, phase);
  if (!added) {
    if (entry->second == phase) return false;
    Count(entry->second, -1);
    entry->second = phase;
  }
  Count(phase, 1);
  return true;
}

bool PodGroupCounter::Erase(const std::string& uid) {
  const auto entry = phases_.find(uid);
  if (entry == phases_.end()) return false;
  Count(entry->second, -1);
  phases_.erase(entry);
  return true;
}

}  // namespace basalt::queuesvc
