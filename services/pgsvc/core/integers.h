#pragma once

// Parses integers that users write as text. Pure.
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace basalt::pgsvc {

// Parses a base-10 integer with an optional sign and nothing else; nullopt if the text is none, or not within 64 bits.
inline std::optional<int64_t> ParseInteger(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(text.starts_with("+-") ? 0 : 1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Parses the same form; nullopt if the integer is not within 32 bits.
inline std::optional<int32_t> ParseInt32(std::string_view text) {
  const std::optional<int64_t> value = ParseInteger(text);
  const bool fits =
      value && *value >= std::numeric_limits<int32_t>::min() && *value <= std::numeric_limits<int32_t>::max();
  return fits ? std::optional<int32_t>(static_cast<int32_t>(*value)) : std::nullopt;
}

}  // namespace basalt::pgsvc
