#pragma once

// What Kubernetes must remember for us: compact JSON under one key of ours in status.controlledResources, written in
// the same patch as the transition that causes it (design rule 3). Pure. Unknown members survive a round trip.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

// A kill that is not over: its effects are re-derived from this until nothing of it is left.
struct Kill {
  std::string cause;    // For people: event and subject.
  std::string action;   // RestartJob, …
  int32_t version = 0;  // status.version that it led to.
  Retain retain = Retain::kNone;
  std::string group_uid;          // The PodGroup that goes with it; empty = none.
  std::set<std::string> targets;  // Pod UIDs of a targeted kill.
  friend bool operator==(const Kill&, const Kill&) = default;
};

struct ControlledState {
  int64_t sequence = 0;  // Of the commit that wrote it.
  std::string nonce;     // Tells two commits of the same number apart.
  std::optional<Kill> kill;
  int32_t delete_terminal_below = 0;  // Finished pods of older versions go: their kill retained nothing.
  int32_t delete_failed_below = 0;    // Failed pods of older versions go: a resume makes them anew.
  std::string last_command_uid;
  // UIDs of pods whose event a targeted kill of this version has answered, kMostAnswered at most, the newest last: an
  // end that is told once more raises nothing, whatever became of the disk.
  std::vector<std::string> answered;
  std::map<std::string, std::set<int32_t>> done;  // Task -> indices that succeeded and whose pods were deleted.
  std::map<std::string, std::string>
      objects;  // Plugin object "<plural>/<name>" -> "<hash> <uid>"; empty: it may exist.
  // Of events that leave no trace, until the action is carried out (deadlines.h).
  std::vector<storage::v1::PendingAction> deadlines;
  // Another controller has killed everything since: kill, answered, done and deadlines are forgotten. Not written.
  bool overtaken = false;
  std::string rest;  // Members that this version does not know, as JSON text of an object; empty = none.
};

// Absent or damaged: an empty state, as on a job that was never ours.
ControlledState ReadControlledState(const kube::v1::JobStatus& status);
// Puts it into status.controlled_resources, sorted.
void WriteControlledState(const ControlledState& state, kube::v1::JobStatus& status);

// The value of a key of controlledResources; null when absent.
const std::string* FindResource(const kube::v1::JobStatus& status, std::string_view key);
// Whether the marker of the plugin says that its objects were made, by us or by another controller (job spec 11.1).
bool IsMarked(const kube::v1::JobStatus& status, std::string_view plugin);
void SetResource(kube::v1::JobStatus& status, std::string_view key, std::string_view value);
void EraseResource(kube::v1::JobStatus& status, std::string_view key);

inline constexpr size_t kMostIndices = 1'000'000;
inline constexpr size_t kMostAnswered = 64;

// "0-3,7" and back.
std::string FormatRanges(const std::set<int32_t>& values);
// Stops at the first thing that is no range, or at `limit` values.
std::set<int32_t> ParseRanges(std::string_view text, size_t limit = kMostIndices);

}  // namespace basalt::jobsvc
