#include "common/base/json.h"

#include <fmt/format.h>

#include <cmath>

#include "common/base/status.h"

namespace basalt {

absl::StatusOr<json::value> ParseJson(std::string_view text, size_t max_depth) {
  json::parse_options options;
  options.max_depth = max_depth;
  json::stream_parser parser({}, options);
  json::error_code error;
  const size_t used = parser.write_some(text.data(), text.size(), error);
  if (!error && used < text.size()) {
    if (text.find_first_not_of(" \t\r\n", used) != std::string_view::npos) error = json::error::extra_data;
  }
  if (!error) parser.finish(error);
  if (error) {
    return Invalid(fmt::format("not valid JSON near byte {}: {}", used, error.message()));
  }
  return parser.release();
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
  if (found == nullptr) return otherwise;
  if (found->is_int64()) return found->get_int64();
  if (found->is_uint64()) return static_cast<int64_t>(found->get_uint64());
  if (found->is_double() && std::floor(found->get_double()) == found->get_double()) {
    return static_cast<int64_t>(found->get_double());
  }
  return otherwise;
}

}  // namespace basalt
