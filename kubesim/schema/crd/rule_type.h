#pragma once

// How expressions see the values of a schema: what can be selected, and as what. Pure.
#include <string_view>

#include "kubesim/schema/crd/schema_node.h"

namespace basalt::kubesim {

// Null where the schema says too little: no type, or items of none. `is_resource`: an object with apiVersion, kind,
// metadata.name and metadata.generateName, whatever else of metadata the schema names. `name` is what errors call it.
cel::TypePtr RuleType(const SchemaNode& node, bool is_resource, std::string_view name);

}  // namespace basalt::kubesim
