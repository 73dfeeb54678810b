#pragma once

// The one door to the mutable JSON DOM (Boost.JSON). Hot paths use simdjson and a SAX writer instead.
#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace basalt {

namespace json = boost::json;

// INVALID_ARGUMENT with the position where the text stops being JSON, or where it nests deeper than `max_depth`; or
// where it has a number that no double holds.
absl::StatusOr<json::value> ParseJson(std::string_view text, size_t max_depth = 128);

// Compact text, members in the order of the object.
std::string ToText(const json::value& value);

// The member of that name, or null when `value` is not an object or has none. Never throws.
const json::value* Find(const json::value& value, std::string_view name);
// Walks down objects by member names.
const json::value* FindPath(const json::value& value, std::initializer_list<std::string_view> path);
// The object that is the member of that name; made, in the place of anything else, where it is missing.
json::object& ObjectIn(json::object& object, std::string_view name);
// The text of a string member, else an empty view.
std::string_view FindString(const json::value& value, std::string_view name);
// An integer member (also an integral double), else `otherwise`.
int64_t FindInt(const json::value& value, std::string_view name, int64_t otherwise = 0);

}  // namespace basalt
