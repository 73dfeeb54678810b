#pragma once

// Fits a group of KAI's form to an older definition in the cluster (pod-grouper 9.4): the rules learn what the
// definition knows, and fields that it cannot store are left out. The API server refuses values below a minimum. Pure.
#include <string>
#include <vector>

#include "common/base/json.h"
#include "services/pgsvc/core/form/spec_schema.h"
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

// Returns the properties of the definition by which the rules group differently.
GroupForm GroupFormOf(const SpecSchema& schema);

// Removes from `spec` what the definition cannot store. Returns a text for each loss, which names the field.
std::vector<std::string> FitInto(const SpecSchema& schema, json::object& spec);

}  // namespace basalt::pgsvc
