#pragma once

// Integers of 32 bits in JSON, as most of Kubernetes' are. One that does not fit is none.
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/json.h"

namespace basalt {

// An integer (also an integral double); nullopt: the value is none of 32 bits.
std::optional<int32_t> Int32Of(const json::value& value);
// An integer member, else `otherwise`.
int32_t FindInt32(const json::value& value, std::string_view name, int32_t otherwise = 0);

}  // namespace basalt
