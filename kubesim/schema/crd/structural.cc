#include "kubesim/schema/crd/structural.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "kubesim/schema/core/field_errors.h"
#include "kubesim/schema/core/json_members.h"
#include "kubesim/schema/crd/crd.h"

namespace basalt::kubesim {
namespace {

absl::Status CheckListKeys(const json::value& list, const std::string& path) {
  const std::string keys_path = path + ".x-kubernetes-list-map-keys";
  const std::vector<std::string> keys = StringsIn(list, "x-kubernetes-list-map-keys");
  if (keys.empty())
    return InvalidField(keys_path, "Required value: must not be empty if x-kubernetes-list-type is map");
  const json::value* items = Find(list, "items");
  if (items == nullptr) return absl::OkStatus();
  const std::vector<std::string> required = StringsIn(*items, "required");
  for (const std::string& key : keys) {
    const json::value* property = FindPath(*items, {"properties", key});
    if (property == nullptr) {
      return InvalidField(keys_path, fmt::format("Invalid value: {}: entries must all be names of item properties",
                                                 ToText(*Find(list, "x-kubernetes-list-map-keys"))));
    }
    if (Find(*property, "default") == nullptr && std::find(required.begin(), required.end(), key) == required.end()) {
      return InvalidField(
          fmt::format("{}.items.properties[{}].default", path, key),
          "Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a "
          "required property");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckDefault(const json::value& schema, const std::string& path) {
  const json::value* value = Find(schema, "default");
  if (value == nullptr || (value->is_null() && IsTrue(schema, "nullable"))) return absl::OkStatus();
  json::value bare = schema;
  bare.get_object().erase("default");
  const json::value holder = json::object{{"type", "object"}, {"properties", json::object{{"default", bare}}}};
  BASALT_ASSIGN_OR_RETURN(const std::shared_ptr<const Schema> compiled, Schema::Compile(holder));
  json::value object = json::object{{"default", *value}};
  std::vector<FieldError> errors;
  if (ValidateAndDefault(*compiled, object, &errors).ok()) return absl::OkStatus();
  return InvalidField(path + ".default", errors.front().message);
}

// Checks that allOf, anyOf and oneOf contain conditions on values only, and define no types.
absl::Status CheckJunctors(const json::value& schema, const std::string& path) {
  if (IsTrue(schema, "x-kubernetes-int-or-string")) return absl::OkStatus();
  for (const std::string_view junctor : {"allOf", "anyOf", "oneOf"}) {
    const json::value* list = Find(schema, junctor);
    if (list == nullptr || !list->is_array()) continue;
    for (size_t i = 0; i < list->get_array().size(); ++i) {
      for (const std::string_view field : {"type", "nullable", "default", "additionalProperties"}) {
        if (Find(list->get_array()[i], field) == nullptr) continue;
        return InvalidField(fmt::format("{}.{}[{}].{}", path, junctor, i, field),
                            "Forbidden: must be empty to be structural");
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNode(const json::value& schema, const std::string& path) {
  const std::string_view type = FindString(schema, "type");
  constexpr std::string_view kTypes[] = {"", "array", "boolean", "integer", "number", "object", "string"};
  if (std::find(std::begin(kTypes), std::end(kTypes), type) == std::end(kTypes)) {
    return InvalidField(path + ".type", fmt::format(R"(Unsupported value: "{}": supported values: "array", "boolean", )"
                                                    R"("integer", "number", "object", "string")",
                                                    type));
  }
  if (IsTrue(schema, "uniqueItems")) {
    return InvalidField(path + ".uniqueItems",
                        "Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
  }
  const json::value* properties = Find(schema, "properties");
  if (properties != nullptr && Find(schema, "additionalProperties") != nullptr) {
    return InvalidField(path + ".additionalProperties",
                        "Forbidden: additionalProperties and properties are mutual exclusive");
  }
  if (IsTrue(schema, "x-kubernetes-embedded-resource") && properties == nullptr &&
      !IsTrue(schema, "x-kubernetes-preserve-unknown-fields")) {
    return InvalidField(path + ".properties",
                        "Required value: must not be empty if x-kubernetes-embedded-resource is true without "
                        "x-kubernetes-preserve-unknown-fields");
  }
  const std::string_view list_type = FindString(schema, "x-kubernetes-list-type");
  if (!list_type.empty() && list_type != "atomic" && list_type != "map" && list_type != "set") {
    return InvalidField(path + ".x-kubernetes-list-type",
                        fmt::format(R"(Unsupported value: "{}": supported values: "atomic", "map", "set")", list_type));
  }
  if (list_type == "map") BASALT_RETURN_IF_ERROR(CheckListKeys(schema, path));
  BASALT_RETURN_IF_ERROR(CheckJunctors(schema, path));
  return CheckDefault(schema, path);
}

absl::Status CheckTree(const json::value& schema, const std::string& path) {
  if (!schema.is_object()) return absl::OkStatus();
  BASALT_RETURN_IF_ERROR(CheckNode(schema, path));
  if (const json::value* properties = Find(schema, "properties"); properties != nullptr && properties->is_object()) {
    for (const auto& member : properties->get_object()) {
      BASALT_RETURN_IF_ERROR(CheckTree(
          member.value(),
          fmt::format("{}.properties[{}]", path, std::string_view(member.key().data(), member.key().size()))));
    }
  }
  if (const json::value* items = Find(schema, "items")) BASALT_RETURN_IF_ERROR(CheckTree(*items, path + ".items"));
  const json::value* additional = Find(schema, "additionalProperties");
  return additional == nullptr ? absl::OkStatus() : CheckTree(*additional, path + ".additionalProperties");
}

absl::Status CheckMetadata(const json::value& schema, const std::string& path) {
  const json::value* properties = FindPath(schema, {"properties", "metadata", "properties"});
  if (properties == nullptr || !properties->is_object()) return absl::OkStatus();
  for (const auto& member : properties->get_object()) {
    if (member.key() == "name" || member.key() == "generateName") continue;
    return InvalidField(
        path + ".properties[metadata]",
        "Forbidden: must not specify anything other than name and generateName, but metadata is implicitly "
        "specified");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckStructural(const json::value& schema, const std::string& path) {
  if (const std::string_view type = FindString(schema, "type"); !type.empty() && type != "object") {
    return InvalidField(path + ".type", fmt::format("Invalid value: \"{}\": must be object at the root", type));
  }
  BASALT_RETURN_IF_ERROR(CheckMetadata(schema, path));
  return CheckTree(schema, path);
}

}  // namespace basalt::kubesim
