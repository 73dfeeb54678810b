#pragma once

// Server-side apply and the bookkeeping of field managers (metadata.managedFields, FieldsV1). Pure functions, any
// thread. Lists merge by the schema of a custom kind (x-kubernetes-list-type) or by the tables of the core kinds.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

// A field that another manager owns with another value.
struct Conflict {
  std::string manager;  // The API server's text, like `"kubectl-edit" using batch.volcano.sh/v1alpha1`.
  std::string field;    // A path like ".spec.replicas" or `.spec.containers[name="a"].image`.
};

struct ApplyResult {
  json::value object;  // The object, with metadata.managedFields brought up to date.
};

// Merges `applied` into `live` in the name of `manager`. If `live` is null, the object is created.
//  - Fields that `manager` applied before and no longer applies are removed, unless another manager owns them too.
//  - A field that another manager owns with another value is a conflict: ABORTED, and `conflicts` lists all of them.
//    With `force`, `manager` becomes the owner instead.
//  - The caller compares with `live` afterwards: an apply that changes nothing keeps the old managedFields and times.
// INVALID_ARGUMENT if `applied` is no object or has managedFields, or if an item of a keyed list lacks its keys.
// `subresource` is "" or "status", which have separate owners. `now_rfc3339` becomes the entry's time.
absl::StatusOr<ApplyResult> ServerSideApply(const json::value* live, const json::value& applied,
                                            std::string_view manager, bool force, const TypeInfo& type,
                                            std::string_view subresource, std::string_view now_rfc3339,
                                            std::vector<Conflict>* conflicts);

// Sets metadata.managedFields of `next` after any write that is not an apply. `manager` becomes the owner of the fields
// that `live` had not, or had with another value. `live` is null for a create. Fields that are gone lose their owners.
// An explicitly empty managedFields list in `next` ([] or [{}]) resets the record first, as in the API server.
void UpdateManagedFields(const json::value* live, json::value& next, std::string_view manager, const TypeInfo& type,
                         std::string_view subresource, std::string_view now_rfc3339);

// Returns the message of a 409: "Apply failed with 2 conflicts: conflicts with \"a\" using v1:\n- .spec.x\n…".
std::string ConflictMessage(const std::vector<Conflict>& conflicts);

}  // namespace basalt::kubesim
