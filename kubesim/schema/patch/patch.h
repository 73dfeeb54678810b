#pragma once

// The patch formats of the API server, on JSON values. Pure functions, any thread. Server-side apply is in
// apply/apply.h.
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/json.h"

namespace basalt::kubesim {

// Applies a merge patch (RFC 7386). INVALID_ARGUMENT if the patch is no object.
absl::StatusOr<json::value> ApplyMergePatch(const json::value& target, const json::value& patch);

// Applies a JSON patch (RFC 6902). INVALID_ARGUMENT (400) if the patch is malformed. FAILED_PRECONDITION (422) if a
// "test" failed, or a path does not exist in this target.
absl::StatusOr<json::value> ApplyJsonPatch(const json::value& target, const json::value& patch);

// Applies Kubernetes' strategic merge patch for core kinds, with $patch, $retainKeys, $deleteFromPrimitiveList/… and
// $setElementOrder/…. INVALID_ARGUMENT if the patch is no object, a directive is unknown, or an item of a merged list
// lacks its merge key.
absl::StatusOr<json::value> ApplyStrategicPatch(const json::value& target, const json::value& patch,
                                                std::string_view kind);

}  // namespace basalt::kubesim
