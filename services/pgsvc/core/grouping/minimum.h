#pragma once

// Minima that users write, against what can exist (pod-grouper 13: G37). Pure.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "services/pgsvc/core/grouping/object_view.h"

namespace basalt::pgsvc {

// At most so many subgroups: the object has to fit into what the API server stores (G38).
inline constexpr int64_t kMostSubGroups = 10'000;

// The annotation by which a user asks for a minimum.
struct MinimumAnnotation {
  std::string_view key = {};
  const json::string* text = nullptr;  // Null: there is none.
};
// kai.scheduler/batch-min-member, behind it kai.scheduler/min-member: the examples of KAI's for Jobs name the latter
// (G57).
MinimumAnnotation MinimumAnnotationOf(ObjectView object);

// The annotation as an integer of 32 bits that is at least `least`. INVALID_ARGUMENT names object, annotation and
// value. `where`: "Job default/j" or "template of worker of JobSet default/js".
absl::StatusOr<int32_t> MinimumOf(std::string_view where, std::string_view key, std::string_view text, int32_t least);

// The lower one of `wanted` and `most`; where `most` is lower, a warning says that no more than that can exist.
int32_t Capped(int32_t wanted, int64_t most, std::string_view where, std::vector<std::string>& warnings);

// How many pods of a Job run at once at most: the parallelism, or the completions where these are fewer, at these paths
// of the object; missing parallelism counts as 1.
absl::StatusOr<int32_t> MostPodsAtOnce(ObjectView job, std::initializer_list<std::string_view> parallelism,
                                       std::initializer_list<std::string_view> completions);

}  // namespace basalt::pgsvc
