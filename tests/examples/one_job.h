#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "services/jobsvc/api/manifest.h"

namespace basalt::examples {

inline constexpr std::string_view kNamespace = "default";

// Reads, defaults and checks a job as basaltctl does when it submits the job. Returns INVALID_ARGUMENT if the job is
// refused, or if the text is not exactly one job.
absl::StatusOr<jobsvc::Manifest> ReadOneJob(std::string_view yaml);

}  // namespace basalt::examples
