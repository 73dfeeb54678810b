#pragma once

// Reads the promise of a file of examples/ from its leading comment, which people read and which tests check. Pure.
//
//   # ends: Completed              the job's last phase, Deleted, or Refused; or `stays: Pending`, if the job stays so
//   # at Running: basaltctl …      a command for the moment when the job is in that phase, or Deleted; in this order
//   # phases: Pending, Running     every phase of the job, in order
//   # pods: 2 succeeded, 1 failed  the counts of the last status; a count that is not named is 0
//   # retries: 1                   status.retryCount at the end; 0 if the line is missing
//   # version: 1                   status.version at the end
//   # made: 6                      the number of pods that were made in all
//   # makes: services/NAME         objects that were made for the job; only a kind if the suite chooses the name
//   # order: pods/A, pods/B        objects that were made in this order
//   # lasts: 10s-20s               the time from the job's creation to its end
//   # events: ExecuteAction        reasons of Events about the job
//   # says: text                   a text in the job's status, or in the refusal
//
// The promise ends at the first empty comment line or the first other line. Comments below are for people alone.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace basalt::examples {

inline constexpr std::string_view kDeleted = "Deleted";
inline constexpr std::string_view kRefused = "Refused";

// A command that is typed: its words, with quotes resolved.
struct Step {
  std::string phase;
  std::vector<std::string> words;
};

struct Promise {
  std::string ends;  // A phase, kDeleted or kRefused. With `stays`, the phase in which the job stays.
  bool stays = false;
  std::vector<Step> steps;
  std::vector<std::string> phases;
  std::optional<std::map<std::string, int64_t>> pods;  // Counts by their names in the status.
  int64_t retries = 0;
  std::optional<int64_t> version;
  std::optional<int64_t> made;
  std::vector<std::string> makes;
  std::vector<std::string> order;
  std::optional<std::pair<absl::Duration, absl::Duration>> lasts;
  std::vector<std::string> events;
  std::vector<std::string> says;
};

// Returns INVALID_ARGUMENT if nothing is promised or a line is none of the above. The message names the line.
absl::StatusOr<Promise> ParsePromise(std::string_view text);

}  // namespace basalt::examples
