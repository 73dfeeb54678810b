#pragma once

// Reads and prints dates of HTTP headers: "Sun, 06 Nov 1994 08:49:37 GMT".
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace basalt::http {

// Nullopt if the text is no such date.
std::optional<absl::Time> ParseDate(std::string_view text);
// Drops fractions of a second.
std::string FormatDate(absl::Time time);

}  // namespace basalt::http
