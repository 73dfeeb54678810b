#pragma once

// Flags about a cluster that the gateway and jobsvc have to be given alike.
#include <string>
#include <vector>

#include "absl/flags/declare.h"

ABSL_DECLARE_FLAG(std::vector<std::string>, scheduler_name);
ABSL_DECLARE_FLAG(std::vector<std::string>, namespaces);
