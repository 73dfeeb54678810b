#pragma once

// The OpenAPI document of version 2, as far as kubectl's apply, create --validate, explain and dry-run need it. Custom
// kinds have their schema; core kinds are objects with any content, so that a client refuses no valid manifest. Every
// write operation has the query parameters that clients look for. Newer clients request version 3 first, and use this
// document if there is none. Pure functions, any thread. The document changes only with the set of types, so a server
// should keep it.
//
// No operation states that it accepts strategic merge patches: then clients calculate patches of core kinds from the
// types they were built with, which have the merge keys.
#include <string>
#include <vector>

#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

// Returns the document of GET /openapi/v2 as JSON.
json::value MakeOpenApi(const std::vector<TypeInfoPtr>& types);
// Encodes the document as application/com.github.proto-openapi.spec.v2@v1.0+protobuf, the only form that kubectl reads.
std::string EncodeOpenApi(const json::value& document);

}  // namespace basalt::kubesim
