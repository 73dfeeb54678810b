#pragma once

// The part of a job's state that Kubernetes must remember for us: compact JSON under one key of ours in
// status.controlledResources, written in the same patch as the transition that causes it (design rule 3). Members that
// this version does not know survive a round trip. Pure.
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

// A kill that is not over. Its effects are derived again from this description until nothing is left to be done.
struct Kill {
  std::string cause;    // Event and subject, for people.
  std::string action;   // RestartJob, …
  int32_t version = 0;  // The status.version to which the kill led.
  Retain retain = Retain::kNone;
  std::string group_uid;          // UID of the PodGroup that is deleted with the pods. Empty if there is none.
  std::set<std::string> targets;  // UIDs of the pods of a targeted kill.
  friend bool operator==(const Kill&, const Kill&) = default;
};

struct ControlledState {
  int64_t sequence = 0;  // Number of the commit that wrote this state.
  std::string nonce;     // Distinguishes two commits of one number.
  std::optional<Kill> kill;
  // Finished pods of versions below this are deleted: their kill retained nothing.
  int32_t delete_terminal_below = 0;
  // Failed pods of versions below this are deleted: a resume makes them anew.
  int32_t delete_failed_below = 0;
  std::string last_command_uid;
  // UIDs of the pods whose event a targeted kill of this version has answered, at most kMostAnswered, the newest last.
  // When the end of such a pod is observed once more, it raises nothing, even if the disk was lost.
  std::vector<std::string> answered;
  std::map<std::string, std::set<int32_t>> done;  // Task -> indices that succeeded and whose pods were deleted.
  // Plugin object "<plural>/<name>" -> "<hash> <uid>". The value is empty if the object may exist.
  std::map<std::string, std::string> objects;
  // Deadlines of events that leave no trace, until their action is carried out (deadlines.h).
  std::vector<storage::v1::PendingAction> deadlines;
  // Another controller has killed all pods since: kill, answered, done and deadlines are forgotten. Not stored.
  bool overtaken = false;
  std::string rest;  // Members that this version does not know, as the JSON text of an object. Empty if there are none.
};

// Returns an empty state if there is none or it is damaged, as for a job that was never ours.
ControlledState ReadControlledState(const kube::v1::JobStatus& status);
// Writes the state into status.controlled_resources, which stays sorted.
void WriteControlledState(const ControlledState& state, kube::v1::JobStatus& status);

// Returns the value of a key of controlledResources. Null if the key is absent.
const std::string* FindResource(const kube::v1::JobStatus& status, std::string_view key);
// Returns whether the plugin's marker states that its objects were made, by us or by another controller (job spec
// 11.1).
bool IsMarked(const kube::v1::JobStatus& status, std::string_view plugin);
void SetResource(kube::v1::JobStatus& status, std::string_view key, std::string_view value);
void EraseResource(kube::v1::JobStatus& status, std::string_view key);

inline constexpr size_t kMostIndices = 1'000'000;
inline constexpr size_t kMostAnswered = 64;

// Formats as "0-3,7".
std::string FormatRanges(const std::set<int32_t>& values);
// Stops at the first part that is no range, or at `limit` values.
std::set<int32_t> ParseRanges(std::string_view text, size_t limit = kMostIndices);

}  // namespace basalt::jobsvc
