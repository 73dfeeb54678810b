#pragma once

// What the cells of the core kinds are made of. Pure functions.
#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "common/base/json.h"

namespace basalt::kubesim {

using MemberPath = std::initializer_list<std::string_view>;

// The list there; an empty one where there is none.
const json::array& ListAt(const json::value& object, MemberPath path);
// The text there, or another value's JSON; `otherwise` where nothing stands or an empty text.
json::value TextAt(const json::value& object, MemberPath path, const char* otherwise = "");
// The number there, else 0.
json::value NumberAt(const json::value& object, MemberPath path);
// How many members or items the member of that name has.
int64_t CountOf(const json::value& object, std::string_view name);
// "a=b,c=d" in the order of the keys, or "<none>".
std::string Labels(const json::value* labels);
// That member of each container of the pod template, joined by commas.
std::string ContainerTexts(const json::value& object, std::string_view member);
// "<status.ready>/<wanted>"
json::value Ratio(const json::value& object, std::string_view ready, const json::value& wanted);
// The age of an RFC 3339 time; "<unknown>" where it is absent.
json::value AgeCell(const json::value* time, absl::Time now);

}  // namespace basalt::kubesim
