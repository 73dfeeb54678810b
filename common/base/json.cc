#include "common/base/json.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>

#include "absl/algorithm/container.h"
#include "common/base/json_int32.h"
#include "common/base/status.h"

namespace basalt {
namespace {

// Nullopt: the value is no integer of 64 bits.
std::optional<int64_t> IntegerOf(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  if (value.is_uint64() && value.get_uint64() <= static_cast<uint64_t>(INT64_MAX)) {
    return static_cast<int64_t>(value.get_uint64());
  }
  if (!value.is_double()) return std::nullopt;
  constexpr double kEnd = 9223372036854775808.0;  // The first one above; to convert it has no meaning in C++.
  const double real = value.get_double();
  if (real < -kEnd || real >= kEnd || std::floor(real) != real) return std::nullopt;
  return static_cast<int64_t>(real);
}

}  // namespace

absl::StatusOr<json::value> ParseJson(std::string_view text, size_t max_depth) {
  json::parse_options options;
  options.max_depth = max_depth;
  json::stream_parser parser({}, options);
  boost::system::error_code error;
  const size_t used = parser.write_some(text.data(), text.size(), error);
  if (!error && used < text.size()) {
    if (text.find_first_not_of(" \t\r\n", used) != std::string_view::npos) error = json::error::extra_data;
  }
  if (!error) parser.finish(error);
  if (error) {
    return Invalid(fmt::format("not valid JSON near byte {}: {}", used, error.message()));
  }
  json::value value = parser.release();
  if (!IsFinite(value)) return Invalid("not valid JSON: a number is beyond 64-bit floating point");
  return value;
}

bool IsFinite(const json::value& value) {
  if (const double* real = value.if_double()) return std::isfinite(*real);
  if (const json::array* array = value.if_array()) return absl::c_all_of(*array, IsFinite);
  const json::object* object = value.if_object();
  return object == nullptr || absl::c_all_of(*object, [](const auto& member) { return IsFinite(member.value()); });
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
