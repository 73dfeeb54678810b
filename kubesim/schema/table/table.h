#pragma once

// Table answers (meta.k8s.io/v1), which `kubectl get` prints. Pure functions, any thread.
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

// Returns a Table with one row per object. The core kinds that people look at have columns of their own, other core
// kinds NAME and AGE, and custom kinds the printer columns of their definition. Wide columns have priority 1.
// `include_object` is the query parameter: "None", "Metadata" (also if empty) or "Object". `list_metadata` becomes the
// Table's metadata.
json::value MakeTable(const TypeInfo& type, const std::vector<const json::value*>& objects, absl::Time now,
                      std::string_view include_object, const json::value& list_metadata);

// Returns a duration as kubectl rounds it: "5s", "2m30s", "3h", "8d".
std::string HumanDuration(absl::Duration duration);

}  // namespace basalt::kubesim
