#pragma once

// Which fields of spec the cluster's definition of groups knows: the API server drops others without a word, and a
// group that has them would be written again at each comparison (pod-grouper 9.4). Pure.
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.h"

namespace basalt::pgsvc {

class SpecSchema {
 public:
  // Every field is known.
  SpecSchema() = default;
  // Of the version of a CustomResourceDefinition. Without a schema of it every field is known.
  static SpecSchema Of(const json::value& definition, std::string_view version);

  // `path`: properties from spec down, "items" behind that of a list.
  bool Knows(std::initializer_list<std::string_view> path) const;
  // The least value that the schema allows for an integer; 0 where the schema names none.
  int64_t LeastOf(std::initializer_list<std::string_view> path) const;
  // Takes out what is not known, and returns what is lost by that, in words, each with the field. The fields of an
  // entry of a list in spec are those of a subgroup.
  std::vector<std::string> Prune(json::object& spec) const;

  friend bool operator==(const SpecSchema&, const SpecSchema&) = default;

 private:
  json::value schema_;  // OpenAPI's, of spec; null: none.
};

}  // namespace basalt::pgsvc
