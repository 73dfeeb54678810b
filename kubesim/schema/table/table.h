#pragma once

// Table answers (meta.k8s.io/v1): what `kubectl get` prints. Pure functions, any thread.
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

// One row per object, with kubectl's columns for core kinds and the definition's printer columns for custom ones;
// wide columns have priority 1. `include_object` is the query parameter: "None", "Metadata" (also when empty) or
// "Object". `list_metadata` becomes the Table's metadata.
json::value MakeTable(const TypeInfo& type, const std::vector<const json::value*>& objects, absl::Time now,
                      std::string_view include_object, const json::value& list_metadata);

// "5s", "2m30s", "3h", "8d": how long something lasts, as kubectl rounds it.
std::string HumanDuration(absl::Duration duration);

}  // namespace basalt::kubesim
