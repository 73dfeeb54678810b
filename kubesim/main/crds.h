#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/json.h"

namespace basalt::kubesim {

// Every CustomResourceDefinition in the YAML files (*.yaml, *.yml, *.json) of the folders, or in the files named, in
// the order of the paths. Documents of other kinds are left out. The status names the file.
absl::StatusOr<std::vector<json::value>> LoadCrds(const std::vector<std::string>& paths);

}  // namespace basalt::kubesim
