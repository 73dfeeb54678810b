#pragma once

// Validation of pod specs, in pods and in templates. Pure functions, any thread.
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

// Validates a pod spec. `restart_policies` has the policies that the kind allows.
void ValidatePodSpec(const json::value& spec, const std::string& field,
                     const std::vector<std::string_view>& restart_policies, std::vector<FieldError>* errors);

// Checks an update of a pod. Only images, activeDeadlineSeconds, added tolerations and removed scheduling gates may
// differ.
void ValidatePodUpdate(const json::value& live, const json::value& next, std::vector<FieldError>* errors);

}  // namespace basalt::kubesim
