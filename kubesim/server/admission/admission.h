#pragma once

// Defaults and validation of one object before it is stored, by the kind's rules in kubesim/schema, and the fields that
// the server itself sets. Pure functions.
#include <string_view>

#include "absl/status/status.h"
#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

// Admits a new object. A refusal is a 422 with all causes. Requires: the metadata of `object` is stamped, and its
// status is removed if that is a subresource.
absl::Status AdmitCreate(const TypeInfo& type, json::value& object, std::string_view now);
absl::Status AdmitUpdate(const TypeInfo& type, std::string_view subresource, const json::value& live,
                         json::value& next);

}  // namespace basalt::kubesim
