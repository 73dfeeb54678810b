#pragma once

// What the API's handlers answer with in the same words. Pure.
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/runtime/controller.h"

namespace basalt::jobsvc {

// "<namespace>/<name>"; an empty namespace is "default".
std::string KeyOf(const std::string& ns, const std::string& name);

absl::Status NotFound(const std::string& key);
// The name has another job by now, or had it before.
absl::Status NotFound(const std::string& key, std::string_view uid, std::string_view present_uid);
// The slot is not open here.
absl::Status NotReady(const std::string& key);
// OK, what the API server refused, UNAVAILABLE (nothing was written), or UNKNOWN (it may have been).
absl::Status StatusOf(const runtime::WriteOutcome& outcome);

}  // namespace basalt::jobsvc
