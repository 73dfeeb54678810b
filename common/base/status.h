#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace basalt {

// Debian's absl::string_view and std::string_view are different types without a conversion: these functions convert.
inline absl::string_view ToAbsl(std::string_view s) { return {s.data(), s.size()}; }
inline std::string_view ToStd(absl::string_view s) { return {s.data(), s.size()}; }

// Makes a status from our own strings (fmt::format and std::string_view).
inline absl::Status MakeStatus(absl::StatusCode code, std::string_view message) {
  return absl::Status(code, ToAbsl(message));
}
// Returns INVALID_ARGUMENT.
inline absl::Status Invalid(std::string_view message) {
  return MakeStatus(absl::StatusCode::kInvalidArgument, message);
}

// Returns the same code, with `context` and ": " put before the message. OK stays OK.
absl::Status Annotate(const absl::Status& status, std::string_view context);

}  // namespace basalt
