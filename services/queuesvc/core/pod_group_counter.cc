#include "services/queuesvc/core/pod_group_counter.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace basalt::queuesvc {
namespace {

// Returns the value of a lower-case hexadecimal digit, or -1.
int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Accepts only the form that Kubernetes writes: two different texts never have the same bits.
std::optional<std::pair<uint64_t, uint64_t>> ParseUuid(std::string_view text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  if (text.size() != kForm.size()) return std::nullopt;
  std::pair<uint64_t, uint64_t> bits;
  for (size_t i = 0; i < text.size(); ++i) {
    if (kForm[i] == '-') {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const int digit = DigitOf(text[i]);
    if (digit < 0) return std::nullopt;
    bits.first = bits.first << 4 | bits.second >> 60;
    bits.second = bits.second << 4 | static_cast<uint64_t>(digit);
  }
  return bits;
}

}  // namespace

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
    // The group is indexed, so that it keeps the queue from closing, but not counted (queue spec 6.1-3).
    case Phase::kOther:
      return;
  }
}

template <typename Groups, typename Uid>
bool PodGroupCounter::SetIn(Groups& groups, const Uid& uid, std::string_view name, Phase phase) {
  const auto [entry, added] = groups.try_emplace(uid);
  Group& group = entry->second;
  if (added) {
    group.name = std::make_unique<std::string>(name);
  } else {
    if (group.phase == phase) return false;
    Count(group.phase, -1);
  }
  group.phase = phase;
  Count(phase, 1);
  return true;
}

template <typename Groups, typename Uid>
bool PodGroupCounter::EraseIn(Groups& groups, const Uid& uid) {
  const auto entry = groups.find(uid);
  if (entry == groups.end()) return false;
  Count(entry->second.phase, -1);
  groups.erase(entry);
  return true;
}

bool PodGroupCounter::Set(std::string_view uid, std::string_view name, std::string_view phase) {
  const std::optional<Uuid> uuid = ParseUuid(uid);
  return uuid ? SetIn(groups_, *uuid, name, ParsePhase(phase))
              : SetIn(others_, std::string(uid), name, ParsePhase(phase));
}

bool PodGroupCounter::Erase(std::string_view uid) {
  const std::optional<Uuid> uuid = ParseUuid(uid);
  return uuid ? EraseIn(groups_, *uuid) : EraseIn(others_, std::string(uid));
}

std::vector<std::string> PodGroupCounter::Names(size_t most) const {
  std::vector<std::string_view> all;
  all.reserve(groups_.size() + others_.size());
  for (const auto& [uid, group] : groups_) all.push_back(*group.name);
  for (const auto& [uid, group] : others_) all.push_back(*group.name);
  std::vector<std::string> names(std::min(most, all.size()));
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(names.size()), all.end());
  std::copy_n(all.begin(), names.size(), names.begin());
  return names;
}

}  // namespace basalt::queuesvc
