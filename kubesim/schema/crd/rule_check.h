#pragma once

// Evaluates the validation rules of a schema on an object that fits the rest of it. Pure, and bounded by a budget.
#include <vector>

#include "common/base/json.h"
#include "kubesim/schema/crd/schema_node.h"

namespace basalt::kubesim {

// `old` is null at a creation: transition rules wait then. A rule that a part breaks and broke before the update, the
// part being the same, is no error. Errors are worded and placed as the API server does.
void CheckRules(const SchemaNode& root, const json::value& object, const json::value* old,
                std::vector<FieldError>* errors);

// The item of the old list that `item` is the newer self of: by the keys of a list that has some, else null.
const json::value* OldItem(const json::value* old_list, const json::value& item, const SchemaNode& list);

}  // namespace basalt::kubesim
