#include "services/pgsvc/core/grouping/minimum.h"
#include "services/pgsvc/core/grouping/inheritance.h"
#include "services/pgsvc/core/integers.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::pgsvc {

MinimumAnnotation MinimumAnnotationOf(ObjectView object) {
  for (const std::string_view key : {kMinMemberAnnotation, kShortMinMemberAnnotation}) {
    if (const json::string* const text = object.Annotation(key); text != nullptr) return {.key = key, .text = text};
  }
  return {};
}

absl::StatusOr<int32_t> MinimumOf(std::string_view where, std::string_view key, std::string_view text, int32_t least) {
  const std::optional<int32_t> number = ParseInt32(text);
  if (number && *number >= least) return *number;
  return Invalid(
      fmt::format("{}: annotation {}: {} must be an integer of at least {}", where, key, Excerpt(text), least));
}

int32_t Capped(int32_t wanted, int64_t most, std::string_view where, std::vector<std::string>& warnings) {
  if (wanted <= most) return wanted;
  warnings.push_back(fmt::format("{}: a minimum of {} can never be met: there are {} at most", where, wanted, most));
  return static_cast<int32_t>(most);
}

absl::StatusOr<int32_t> MostPodsAtOnce(ObjectView job, std::initializer_list<std::string_view> parallelism,
                                       std::initializer_list<std::string_view> completions) {
  BASALT_ASSIGN_OR_RETURN(const std::optional<int32_t> at_once, job.IntAt(parallelism));
  BASALT_ASSIGN_OR_RETURN(const std::optional<int32_t> in_all, job.IntAt(completions));
  const int32_t most = std::max(at_once.value_or(1), 0);
  return in_all ? std::min(most, std::max(*in_all, 0)) : most;
}

}  // namespace basalt::pgsvc
