#pragma once

// The columns of the core kinds, each with the function that computes its cells. Used by table.cc alone.
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/base/json.h"

namespace basalt::kubesim {

struct CoreColumn {
  const char* name;
  const char* type;
  int priority;
  json::value (*cell)(const json::value& object, absl::Time now);
};

// Returns the columns of a kind. A kind without columns of its own has NAME and AGE.
const std::vector<CoreColumn>& CoreColumns(std::string_view kind);

}  // namespace basalt::kubesim
