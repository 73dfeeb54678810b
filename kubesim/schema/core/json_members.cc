#include "kubesim/schema/core/json_members.h"

#include <cmath>
#include <utility>

namespace basalt::kubesim {

bool IsTrue(const json::value& value, std::string_view name) {
  const json::value* found = Find(value, name);
  return found != nullptr && found->is_bool() && found->get_bool();
}

std::vector<std::string> StringsIn(const json::value& value, std::string_view name) {
  std::vector<std::string> out;
  const json::value* found = Find(value, name);
  if (found == nullptr || !found->is_array()) return out;
  for (const json::value& item : found->get_array()) {
    if (item.is_string()) out.emplace_back(item.get_string());
  }
  return out;
}

json::object* FindObject(json::object& object, std::string_view name) {
  json::value* found = object.if_contains(name);
  return found == nullptr ? nullptr : found->if_object();
}

void AddMissing(json::object& object, std::string_view name, json::value value) {
  object.emplace(name, std::move(value));
}

bool IsIntegral(const json::value& value) {
  return value.is_int64() || value.is_uint64() ||
         (value.is_double() && std::floor(value.get_double()) == value.get_double());
}

std::string_view KindOf(const json::value& value) {
  if (value.is_null()) return "null";
  if (value.is_bool()) return "boolean";
  if (value.is_string()) return "string";
  if (value.is_array()) return "array";
  if (value.is_object()) return "object";
  return IsIntegral(value) ? "integer" : "number";
}

void DropNulls(json::value& value) {
  if (json::array* array = value.if_array()) {
    for (json::value& item : *array) DropNulls(item);
    return;
  }
  json::object* object = value.if_object();
  if (object == nullptr) return;
  for (size_t i = 0; i < object->size();) {
    auto member = object->begin() + static_cast<ptrdiff_t>(i);
    if (member->value().is_null()) {
      object->stable_erase(member);
    } else {
      DropNulls(member->value());
      ++i;
    }
  }
}

}  // namespace basalt::kubesim
