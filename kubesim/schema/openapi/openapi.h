#pragma once

// The OpenAPI document of version 2, as far as kubectl's apply, create --validate, explain and dry-run need it: custom
// kinds with their schema, core kinds as objects with any content (so that no valid manifest is refused by a client),
// and every write operation with the query parameters that clients look for. Newer clients ask for version 3 first and
// take this one where there is none. Pure functions, any thread; the answer changes only when the set of types does, so
// a server keeps it.
//
// No operation says that it takes strategic merge patches: clients then calculate those for core kinds from the types
// they were built with, which know the merge keys.
#include <string>
#include <vector>

#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

// GET /openapi/v2 as JSON.
json::value MakeOpenApi(const std::vector<TypeInfoPtr>& types);
// GET /openapi/v2 as application/com.github.proto-openapi.spec.v2@v1.0+protobuf, the only form that kubectl reads.
std::string EncodeOpenApi(const json::value& document);

}  // namespace basalt::kubesim
