#pragma once

// How a plain YAML scalar reads: shared by the reader and the writer, which must quote what would read as a non-text.
#include <optional>
#include <string_view>

#include "common/base/json.h"

namespace basalt::yaml_internal {

// The value of a plain scalar that is not text (null, boolean, number), else nothing. A floating value that is
// infinite or not a number comes back as such a double; JSON has no form for it.
std::optional<json::value> ResolvePlain(std::string_view text);

// "2026-01-01", "2026-01-01T10:00:00Z": stays text here, but other readers take it for a time.
bool LooksLikeTime(std::string_view text);

}  // namespace basalt::yaml_internal
