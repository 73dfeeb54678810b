#pragma once

// Dates of HTTP headers: "Sun, 06 Nov 1994 08:49:37 GMT".
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace basalt::http {

// Nothing: the text is no such date.
std::optional<absl::Time> ParseDate(std::string_view text);
// Cut to whole seconds.
std::string FormatDate(absl::Time time);

}  // namespace basalt::http
