#pragma once

// Small questions to JSON values that several parts of the schemas ask. Pure functions, any thread.
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.h"

namespace basalt::kubesim {

// The member is there and true.
bool IsTrue(const json::value& value, std::string_view name);
// The strings in the list of that name; other items are passed over.
std::vector<std::string> StringsIn(const json::value& value, std::string_view name);

// The member of that name where it is an object, else null.
json::object* FindObject(json::object& object, std::string_view name);
// Leaves a member that is there as it is.
void AddMissing(json::object& object, std::string_view name, json::value value);

// An integer, or a double without a fraction.
bool IsIntegral(const json::value& value);
// As the API server calls it: "object", "integer", "number", …
std::string_view KindOf(const json::value& value);

// Removes null members at every depth: typed decoding reads them as absent. Items of lists stay.
void DropNulls(json::value& value);

}  // namespace basalt::kubesim
