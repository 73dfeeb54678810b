#pragma once

// The OpenAPI documents, as far as kubectl's apply, create --validate, explain and dry-run need them: custom kinds with
// their schema, core kinds as objects with any content (so that no valid manifest is refused by a client), and every
// write operation with the query parameters that clients look for. Pure functions, any thread; the answer changes
// only when the set of types does, so a server keeps it.
//
// No operation says that it takes strategic merge patches: clients then calculate those for core kinds from the types
// they were built with, which know the merge keys.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

// GET /openapi/v2 as JSON.
json::value MakeOpenApiV2(const std::vector<TypeInfoPtr>& types);
// GET /openapi/v2 as application/com.github.proto-openapi.spec.v2@v1.0+protobuf, the only form that kubectl reads.
std::string EncodeOpenApiV2(const json::value& document);

// GET /openapi/v3: the index of documents, one per group and version.
json::value MakeOpenApiV3Index(const std::vector<TypeInfoPtr>& types);
// GET /openapi/v3/api/v1 or /openapi/v3/apis/<group>/<version>. NOT_FOUND: no type of that group and version.
absl::StatusOr<json::value> MakeOpenApiV3(const std::vector<TypeInfoPtr>& types, std::string_view group,
                                          std::string_view version);

}  // namespace basalt::kubesim
