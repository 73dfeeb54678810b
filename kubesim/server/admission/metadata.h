#pragma once

// The API server's rules for metadata and for what each subresource may change. Pure functions.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

// Moves kind, apiVersion and metadata to the front and drops null metadata members.
void Normalize(json::value& object, const TypeInfo& type);

// What a create may not bring: uid, times, generation, deletion marks; and what the server fills in.
void StampNewObject(json::value& object, const TypeInfo& type, std::string_view uid, std::string_view now);

// 409 when `next` names another resourceVersion, or another uid and `uid_is_precondition` (PUT). 422 when the kind
// demands a resourceVersion (PUT of custom kinds) and there is none. Removes it from `next`.
absl::Status CheckVersions(const TypeInfo& type, const json::value& live, json::value& next, bool is_put);

// Keeps from `live` what a write of this subresource cannot change, and the server's own fields of metadata. 422 causes
// for changes of immutable metadata.
std::vector<FieldError> MergeForUpdate(const TypeInfo& type, std::string_view subresource, const json::value& live,
                                       json::value& next);

// Grows metadata.generation where the kind has one and something outside metadata and status differs.
void UpdateGeneration(const TypeInfo& type, const json::value& live, json::value& next);

// Equal but for resourceVersion, and for the times of managedFields.
bool SameObject(const json::value& a, const json::value& b);

}  // namespace basalt::kubesim
