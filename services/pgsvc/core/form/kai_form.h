#pragma once

// What becomes of a group of KAI's form where the cluster's definition is older (pod-grouper 9.4): what it knows is
// told to the rules, and what it cannot store left out. The API server refuses values below a minimum. Pure.
#include <string>
#include <vector>

#include "common/base/json.h"
#include "services/pgsvc/core/form/spec_schema.h"
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

// By which properties of the definition the rules group differently.
GroupForm GroupFormOf(const SpecSchema& schema);

// Takes out of spec what cannot be stored, and returns what is lost by that, in words, each with the field.
std::vector<std::string> FitInto(const SpecSchema& schema, json::object& spec);

}  // namespace basalt::pgsvc
