#pragma once

// Resolves plain YAML scalars, for the reader, and for the writer, which must quote a text that would not read as text.
#include <optional>
#include <string_view>

#include "common/base/json.h"

namespace basalt::yaml_internal {

// Returns the value of a plain scalar: null, a boolean or a number. Nullopt if the scalar is text. A value that is
// infinite or not a number comes back as such a double, for which JSON has no form.
std::optional<json::value> ResolvePlain(std::string_view text);

// Returns whether other readers would take the text for a time: "2026-01-01", "2026-01-01T10:00:00Z". Here such a text
// stays text.
bool LooksLikeTime(std::string_view text);

}  // namespace basalt::yaml_internal
