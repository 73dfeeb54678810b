#pragma once

// What the gateway and jobsvc have to be told alike of a cluster.
#include <string>
#include <vector>

#include "absl/flags/declare.h"

ABSL_DECLARE_FLAG(std::vector<std::string>, scheduler_name);
ABSL_DECLARE_FLAG(std::vector<std::string>, namespaces);
