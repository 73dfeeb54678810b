#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/json.h"

namespace basalt::kubesim {

// The notice that a program that serves definitions prints at its start.
inline constexpr std::string_view kRulesNotice =
    "kubesim does not evaluate the validation rules of definitions (x-kubernetes-validations): it takes what a real "
    "API "
    "server refuses by them";

// Loads every CustomResourceDefinition in the YAML files (*.yaml, *.yml, *.json) of the folders, or in the named files,
// in the order of the paths. Documents of other kinds are left out. An error names the file.
absl::StatusOr<std::vector<json::value>> LoadCrds(const std::vector<std::string>& paths);

}  // namespace basalt::kubesim
