#include "services/pgsvc/core/form/spec_schema.h"

#include <fmt/format.h>

#include <utility>

namespace basalt::pgsvc {
namespace {

constexpr std::string_view kItems = "items";

bool IsNothing(const json::value& value) {
  return (value.is_object() && value.get_object().empty()) || (value.is_array() && value.get_array().empty());
}

// Returns null if the schema names no fields, so that it allows any.
const json::object* PropertiesOf(const json::value& schema) {
  const json::value* const properties = Find(schema, "properties");
  return properties == nullptr ? nullptr : properties->if_object();
}

bool IsOpen(const json::value& schema) {
  return PropertiesOf(schema) == nullptr || Find(schema, "x-kubernetes-preserve-unknown-fields") != nullptr;
}

// Returns the schema of a property, or of the entries of a list; null if there is none.
const json::value* Below(const json::value& schema, std::string_view field) {
  return field == kItems ? Find(schema, kItems) : FindPath(schema, {"properties", field});
}

class Pruning {
 public:
  // `where` names the object for people; `path` is a prefix of the names of its fields.
  void Prune(const json::value& schema, const std::string& where, const std::string& path, json::object& object) {
    for (auto member = object.begin(); member != object.end();) {
      const json::value* const known = FindPath(schema, {"properties", member->key()});
      if (known == nullptr && !IsOpen(schema)) {
        if (!IsNothing(member->value())) {
          losses_.push_back(
              fmt::format("{}: {}{} is not known to this cluster's definition of pod groups, and left out", where, path,
                          std::string_view(member->key())));
        }
        member = object.stable_erase(member);
        continue;
      }
      if (known != nullptr)
        Descend(*known, where, fmt::format("{}{}", path, std::string_view(member->key())), member->value());
      ++member;
    }
  }
  std::vector<std::string> TakeLosses() { return std::move(losses_); }

 private:
  void Descend(const json::value& schema, const std::string& where, const std::string& name, json::value& value) {
    if (json::object* const object = value.if_object()) return Prune(schema, where, name + ".", *object);
    const json::value* const items = Find(schema, kItems);
    json::array* const list = value.if_array();
    if (items == nullptr || list == nullptr) return;
    for (json::value& entry : *list) {
      json::object* const object = entry.if_object();
      if (object == nullptr) continue;
      const std::string_view entry_name = FindString(entry, "name");
      entry_name.empty() ? Prune(*items, where, name + ".", *object)
                         : Prune(*items, fmt::format("subgroup {}", entry_name), "", *object);
    }
  }

  std::vector<std::string> losses_;
};

}  // namespace

SpecSchema SpecSchema::Of(const json::value& definition, std::string_view version) {
  SpecSchema schema;
  const json::value* const versions = FindPath(definition, {"spec", "versions"});
  if (versions == nullptr || !versions->is_array()) return schema;
  for (const json::value& one : versions->get_array()) {
    if (FindString(one, "name") != version) continue;
    const json::value* const spec = FindPath(one, {"schema", "openAPIV3Schema", "properties", "spec"});
    if (spec != nullptr) schema.schema_ = *spec;
  }
  return schema;
}

bool SpecSchema::Knows(std::initializer_list<std::string_view> path) const {
  const json::value* schema = &schema_;
  for (const std::string_view field : path) {
    const json::value* const below = Below(*schema, field);
    if (below == nullptr) return field == kItems || IsOpen(*schema);
    schema = below;
  }
  return true;
}

int64_t SpecSchema::LeastOf(std::initializer_list<std::string_view> path) const {
  const json::value* schema = &schema_;
  for (const std::string_view field : path) {
    schema = Below(*schema, field);
    if (schema == nullptr) return 0;
  }
  return FindInt(*schema, "minimum", 0);
}

std::vector<std::string> SpecSchema::Prune(json::object& spec) const {
  Pruning pruning;
  pruning.Prune(schema_, "the group", "", spec);
  return pruning.TakeLosses();
}

}  // namespace basalt::pgsvc
