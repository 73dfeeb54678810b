#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "services/jobsvc/api/manifest.h"

namespace basalt::examples {

inline constexpr std::string_view kNamespace = "default";

// As basaltctl submits it: read, defaulted and checked. INVALID_ARGUMENT: it is refused, or is not one job.
absl::StatusOr<jobsvc::Manifest> ReadOneJob(std::string_view yaml);

}  // namespace basalt::examples
