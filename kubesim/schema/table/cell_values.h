#pragma once

// Building blocks for the cells of the core kinds. Pure functions.
#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "common/base/json.h"

namespace basalt::kubesim {

using MemberPath = std::initializer_list<std::string_view>;

// Returns the list at the path, or an empty one if there is none.
const json::array& ListAt(const json::value& object, MemberPath path);
// Returns the text at the path, or the JSON of a value of another type. Returns `otherwise` if there is no value or an
// empty text.
json::value TextAt(const json::value& object, MemberPath path, const char* otherwise = "");
// Returns the number at the path, or 0 if there is none.
json::value NumberAt(const json::value& object, MemberPath path);
// Returns the age of an RFC 3339 time, or "<unknown>" if it is absent.
json::value AgeCell(const json::value* time, absl::Time now);

}  // namespace basalt::kubesim
