#pragma once

// Defaults and validation of one object before it is stored: what kubesim/schema knows about the kind, and the fields
// that the server itself fills in. Pure functions.
#include <string_view>

#include "absl/status/status.h"
#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

// 422 with all causes. `object` has its metadata stamped already; status has been dropped where it is a subresource.
absl::Status AdmitCreate(const TypeInfo& type, json::value& object, std::string_view now);
absl::Status AdmitUpdate(const TypeInfo& type, std::string_view subresource, const json::value& live,
                         json::value& next);

}  // namespace basalt::kubesim
