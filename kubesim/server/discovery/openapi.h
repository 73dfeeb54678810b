#pragma once

// The OpenAPI document of version 2, as far as kubectl cannot do without it: each kind has a path whose patch takes the
// query parameters dryRun and fieldValidation. kubectl then leaves the validation of manifests to the server, and
// offers
// --dry-run=server. There are no schemas: kubectl calculates the patches of core kinds from the types that it was built
// with. Newer clients request version 3 first, and use this document if there is none. Pure, any thread.
#include <string>
#include <vector>

#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

inline constexpr char kOpenApiType[] = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

// Returns the document as a protobuf message openapi.v2.Document, the only form that kubectl reads.
std::string OpenApiDocument(const std::vector<TypeInfoPtr>& types);

}  // namespace basalt::kubesim
