#pragma once

// The fieldPath of a validation rule: ".spec.tasks", ".map['a key']". Pure.
#include <optional>
#include <string>
#include <string_view>

#include "kubesim/schema/crd/schema_node.h"

namespace basalt::kubesim {

// As errors show it: "spec.tasks", "map[a key]". Nothing where it names no field of the schema.
std::optional<std::string> NormalFieldPath(std::string_view path, const SchemaNode& node);

}  // namespace basalt::kubesim
