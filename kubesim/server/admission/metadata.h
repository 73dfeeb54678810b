#pragma once

// The API server's rules for metadata, and for the changes that each subresource allows. Pure functions.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

// Moves kind, apiVersion and metadata to the front and drops null metadata members.
void Normalize(json::value& object, const TypeInfo& type);

// Removes the metadata that a client cannot create (uid, times, generation, deletion marks), and sets the server's own.
void StampNewObject(json::value& object, const TypeInfo& type, std::string_view uid, std::string_view now);

// Checks the preconditions in `next` and removes its resourceVersion. 409 if `next` names another resourceVersion or,
// in a PUT, another uid. 422 if the kind requires a resourceVersion (PUT of custom kinds) and there is none.
absl::Status CheckVersions(const TypeInfo& type, const json::value& live, json::value& next, bool is_put);

// Copies from `live` the fields that a write of this subresource cannot change, and the server's own metadata. Returns
// 422 causes for changes of immutable metadata.
std::vector<FieldError> MergeForUpdate(const TypeInfo& type, std::string_view subresource, const json::value& live,
                                       json::value& next);

// Raises metadata.generation if the kind has one and a field outside metadata and status differs.
void UpdateGeneration(const TypeInfo& type, const json::value& live, json::value& next);

// Returns whether the objects are equal but for resourceVersion and the times of managedFields.
bool SameObject(const json::value& a, const json::value& b);

}  // namespace basalt::kubesim
