#pragma once

// Compiles the validation rules of a schema in place, once per definition, and says what is wrong with them in the
// words of the API server. Costs are not estimated beforehand. Pure.
#include <string_view>
#include <vector>

#include "kubesim/schema/crd/schema_node.h"

namespace basalt::kubesim {

// `path` is where the schema stands in its definition: "spec.validation.openAPIV3Schema".
void CompileRules(SchemaNode& root, std::string_view path, std::vector<FieldError>* errors);

}  // namespace basalt::kubesim
