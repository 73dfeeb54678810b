#pragma once

// Small functions on JSON values that several parts of the schemas use. Pure functions, any thread.
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.h"

namespace basalt::kubesim {

// Returns whether the member exists and is true.
bool IsTrue(const json::value& value, std::string_view name);
// Returns the strings in the list of this name. Other items are ignored.
std::vector<std::string> StringsIn(const json::value& value, std::string_view name);

// Returns the member of this name if it is an object, else null.
json::object* FindObject(json::object& object, std::string_view name);
// Adds a member unless it exists already.
void AddMissing(json::object& object, std::string_view name, json::value value);

// Returns whether the value is an integer, or a double without a fraction.
bool IsIntegral(const json::value& value);
// Returns the API server's name of the type: "object", "integer", "number", …
std::string_view KindOf(const json::value& value);

// Removes null members at every depth, since typed decoding treats them as absent. Null items of lists stay.
void DropNulls(json::value& value);

}  // namespace basalt::kubesim
