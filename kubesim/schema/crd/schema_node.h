#pragma once

// The compiled tree of a structural schema, used by the checks of crd.h and the merges of apply.h. Immutable after
// compilation.
#include <re2/re2.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

struct SchemaNode {
  enum class Type { kAny, kObject, kArray, kString, kInteger, kNumber, kBoolean };

  Type type = Type::kAny;
  std::string format;
  bool nullable = false;
  bool int_or_string = false;
  bool preserve_unknown = false;
  bool embedded_resource = false;
  bool atomic_map = false;
  ListType list_type = ListType::kAtomic;
  std::vector<std::string> list_keys;

  std::map<std::string, std::unique_ptr<SchemaNode>, std::less<>> properties;
  std::unique_ptr<SchemaNode> items;
  std::unique_ptr<SchemaNode> additional;  // The schema of additionalProperties. Null if there is none.
  bool additional_allowed = false;         // True for `additionalProperties: true`.

  std::optional<json::value> default_value;
  bool defaults_below = false;  // A default may apply, or a null may be dropped, somewhere in this subtree.

  std::vector<std::string> required;
  std::vector<json::value> enumeration;
  std::optional<double> minimum, maximum, multiple_of;
  bool exclusive_minimum = false;
  bool exclusive_maximum = false;
  std::optional<size_t> min_length, max_length, min_items, max_items, min_properties, max_properties;
  bool unique_items = false;
  std::string pattern_text;
  std::unique_ptr<RE2> pattern;
  std::vector<std::unique_ptr<SchemaNode>> all_of, any_of, one_of;
  std::unique_ptr<SchemaNode> negated;
};

// Returns the name on the wire: "object", … Empty for kAny.
std::string_view TypeName(SchemaNode::Type type);

}  // namespace basalt::kubesim
