#pragma once

// The only header through which code uses the mutable JSON DOM (Boost.JSON). Hot paths use simdjson and a SAX writer
// instead.
#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace basalt {

namespace json = boost::json;

// INVALID_ARGUMENT names the position where the text stops being JSON or nests deeper than `max_depth`. A number that
// no double holds is INVALID_ARGUMENT, too.
absl::StatusOr<json::value> ParseJson(std::string_view text, size_t max_depth = 128);

// Returns compact text, with members in the order of the object.
std::string ToText(const json::value& value);

// Returns the member of that name. Null if `value` is not an object or has no such member. Never throws.
const json::value* Find(const json::value& value, std::string_view name);
// Walks down objects by member names. Null if a member is missing.
const json::value* FindPath(const json::value& value, std::initializer_list<std::string_view> path);
// Returns the object that is the member of that name. If the member is missing or no object, an empty object replaces
// it.
json::object& ObjectIn(json::object& object, std::string_view name);
// Returns the text of a string member, else an empty view.
std::string_view FindString(const json::value& value, std::string_view name);
// Returns an integer member (also an integral double), else `otherwise`.
int64_t FindInt(const json::value& value, std::string_view name, int64_t otherwise = 0);

}  // namespace basalt
