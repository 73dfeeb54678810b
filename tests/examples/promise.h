#pragma once

// What a file of examples/ promises in its leading comment, for people and for the tests that hold it to it. Pure.
//
//   # ends: Completed              the phase it ends in, Deleted, or Refused; or `stays: Pending`, where it stays
//   # at Running: basaltctl …      what somebody types once the job is in that phase, or Deleted; in this order
//   # phases: Pending, Running     every phase it has had, in order
//   # pods: 2 succeeded, 1 failed  what its status counts in the end; what is not named is 0
//   # retries: 1                   status.retryCount in the end; 0 where nothing is said
//   # version: 1                   status.version in the end
//   # made: 6                      pods that were made in all
//   # makes: services/NAME         objects that were made for it; a kind alone, where the name is the suite's to choose
//   # order: pods/A, pods/B        that were made in this order
//   # lasts: 10s-20s               from its creation to its end
//   # events: ExecuteAction        reasons of Events that tell of it
//   # says: words                  that stand in its status, or in the refusal
//
// The first comment line that is empty, or the first other line, ends it; what follows is for people alone.
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

// Something that is typed: its words, quotes resolved.
struct Step {
  std::string phase;
  std::vector<std::string> words;
};

struct Promise {
  std::string ends;  // A phase, kDeleted or kRefused; where it stays if `stays`.
  bool stays = false;
  std::vector<Step> steps;
  std::vector<std::string> phases;
  std::optional<std::map<std::string, int64_t>> pods;  // By the name of the count in the status.
  int64_t retries = 0;
  std::optional<int64_t> version;
  std::optional<int64_t> made;
  std::vector<std::string> makes;
  std::vector<std::string> order;
  std::optional<std::pair<absl::Duration, absl::Duration>> lasts;
  std::vector<std::string> events;
  std::vector<std::string> says;
};

// INVALID_ARGUMENT: nothing is promised, or a line that is none of the above; names the line.
absl::StatusOr<Promise> ParsePromise(std::string_view text);

}  // namespace basalt::examples
