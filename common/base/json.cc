#include "common/base/json.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "common/base/json_int32.h"
#include "common/base/json_reader.h"
#include "common/base/status.h"

namespace basalt {
namespace {

// Nullopt if the value is no integer of 64 bits.
std::optional<int64_t> IntegerOf(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  if (value.is_uint64() && value.get_uint64() <= static_cast<uint64_t>(INT64_MAX)) {
    return static_cast<int64_t>(value.get_uint64());
  }
  if (!value.is_double()) return std::nullopt;
  constexpr double kEnd = 9223372036854775808.0;  // The first double above INT64_MAX: its conversion is undefined.
  const double real = value.get_double();
  if (real < -kEnd || real >= kEnd || std::floor(real) != real) return std::nullopt;
  return static_cast<int64_t>(real);
}

}  // namespace

absl::StatusOr<json::value> ParseJson(std::string_view text, size_t max_depth) {
  internal::JsonRead read = internal::ReadJson(text, max_depth);
  if (!read.error && read.used < text.size()) read.error = json::error::extra_data;
  if (read.error == json::error::exponent_overflow) {
    return Invalid("not valid JSON: a number is beyond 64-bit floating point");
  }
  if (read.error) {
    return Invalid(fmt::format("not valid JSON near byte {}: {}", read.used, read.error.message()));
  }
  return std::move(read.value);
}

std::string ToText(const json::value& value) { return json::serialize(value); }

const json::value* Find(const json::value& value, std::string_view name) {
  const json::object* object = value.if_object();
  return object == nullptr ? nullptr : object->if_contains(name);
}

const json::value* FindPath(const json::value& value, std::initializer_list<std::string_view> path) {
  const json::value* at = &value;
  for (const std::string_view name : path) {
    at = Find(*at, name);
    if (at == nullptr) return nullptr;
  }
  return at;
}

json::object& ObjectIn(json::object& object, std::string_view name) {
  json::value& member = object[name];
  if (!member.is_object()) member.emplace_object();
  return member.get_object();
}

std::string_view FindString(const json::value& value, std::string_view name) {
  const json::value* found = Find(value, name);
  if (found == nullptr || !found->is_string()) return {};
  return {found->get_string().data(), found->get_string().size()};
}

int64_t FindInt(const json::value& value, std::string_view name, int64_t otherwise) {
  const json::value* found = Find(value, name);
  return found == nullptr ? otherwise : IntegerOf(*found).value_or(otherwise);
}

std::optional<int32_t> Int32Of(const json::value& value) {
  const std::optional<int64_t> number = IntegerOf(value);
  if (!number || *number < INT32_MIN || *number > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(*number);
}

int32_t FindInt32(const json::value& value, std::string_view name, int32_t otherwise) {
  const json::value* found = Find(value, name);
  return found == nullptr ? otherwise : Int32Of(*found).value_or(otherwise);
}

}  // namespace basalt
