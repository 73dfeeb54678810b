#pragma once

// The patch formats of the API server, on JSON values. Pure functions, any thread. Server-side apply is in
// apply/apply.h.
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/json.h"

namespace basalt::kubesim {

// RFC 7386. INVALID_ARGUMENT: the patch is not an object.
absl::StatusOr<json::value> ApplyMergePatch(const json::value& target, const json::value& patch);

// RFC 6902. INVALID_ARGUMENT (400): not a patch. FAILED_PRECONDITION (422): a "test" failed, or a path is not there
// in this target.
absl::StatusOr<json::value> ApplyJsonPatch(const json::value& target, const json::value& patch);

// Kubernetes' strategic merge patch for core kinds, with $patch, $retainKeys, $deleteFromPrimitiveList/… and
// $setElementOrder/…. INVALID_ARGUMENT: the patch is not an object, a directive is unknown, or an item of a merged
// list lacks its merge key.
absl::StatusOr<json::value> ApplyStrategicPatch(const json::value& target, const json::value& patch,
                                                std::string_view kind);

}  // namespace basalt::kubesim
