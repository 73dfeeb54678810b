#pragma once

// Checks minima that users write against the number of pods that can exist (pod-grouper 13: G37). Pure.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "services/pgsvc/core/grouping/object_view.h"

namespace basalt::pgsvc {

// The limit of subgroups: the API server must be able to store the object (G38).
inline constexpr int64_t kMostSubGroups = 10'000;

// The annotation by which a user requests a minimum.
struct MinimumAnnotation {
  std::string_view key = {};
  const json::string* text = nullptr;  // Null if there is none.
};
// Finds kai.scheduler/batch-min-member, else kai.scheduler/min-member, which KAI's examples for Jobs name (G57).
MinimumAnnotation MinimumAnnotationOf(ObjectView object);

// Parses the annotation as an integer of 32 bits that is at least `least`. INVALID_ARGUMENT names object, annotation
// and value. `where` is "Job default/j" or "template of worker of JobSet default/js".
absl::StatusOr<int32_t> MinimumOf(std::string_view where, std::string_view key, std::string_view text, int32_t least);

// Returns the lower one of `wanted` and `most`. If that is `most`, a warning states that no more than that can exist.
int32_t Capped(int32_t wanted, int64_t most, std::string_view where, std::vector<std::string>& warnings);

// Returns how many pods of a Job run at once at most: the lower one of parallelism and completions, at these paths of
// the object. A missing parallelism counts as 1.
absl::StatusOr<int32_t> MostPodsAtOnce(ObjectView job, std::initializer_list<std::string_view> parallelism,
                                       std::initializer_list<std::string_view> completions);

}  // namespace basalt::pgsvc
