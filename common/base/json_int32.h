#pragma once

// Reads integers of 32 bits from JSON: most integers of Kubernetes have 32 bits. A number that does not fit counts as
// no integer.
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/json.h"

namespace basalt {

// Returns an integer (also an integral double). Nullopt if the value is no integer of 32 bits.
std::optional<int32_t> Int32Of(const json::value& value);
// Returns an integer member, else `otherwise`.
int32_t FindInt32(const json::value& value, std::string_view name, int32_t otherwise = 0);

}  // namespace basalt
