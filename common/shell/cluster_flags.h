#pragma once

// Declares the flags about a cluster, which must have the same values for the gateway and jobsvc.
#include <string>
#include <vector>

#include "absl/flags/declare.h"

ABSL_DECLARE_FLAG(std::vector<std::string>, scheduler_name);
ABSL_DECLARE_FLAG(std::vector<std::string>, namespaces);
