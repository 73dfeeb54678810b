#pragma once

// The fields of spec that the cluster's definition of groups knows. The API server drops other fields silently: a group
// that has them would be written again at each comparison (pod-grouper 9.4). Pure.
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.h"

namespace basalt::pgsvc {

class SpecSchema {
 public:
  // Knows every field.
  SpecSchema() = default;
  // The schema of a version of a CustomResourceDefinition. Knows every field if that version has no schema.
  static SpecSchema Of(const json::value& definition, std::string_view version);

  // `path` names properties from spec downwards, with "items" behind the name of a list.
  bool Knows(std::initializer_list<std::string_view> path) const;
  // Returns the least value that the schema allows for an integer; 0 if the schema names none.
  int64_t LeastOf(std::initializer_list<std::string_view> path) const;
  // Removes unknown fields. Returns a text for each loss, which names the field. The fields of an entry of a list in
  // spec are those of a subgroup.
  std::vector<std::string> Prune(json::object& spec) const;

  friend bool operator==(const SpecSchema&, const SpecSchema&) = default;

 private:
  json::value schema_;  // The OpenAPI schema of spec; null if there is none.
};

}  // namespace basalt::pgsvc
