#pragma once

// The documents of plain discovery, which every client understands: /api, /apis, the groups and resources below them,
// and /version. Pure functions of the registry.
#include <optional>
#include <string_view>

#include "common/base/json.h"
#include "kubesim/server/state/registry.h"

namespace basalt::kubesim {

json::value ApiVersionsDocument();                        // /api
json::value ApiGroupListDocument(const Registry& types);  // /apis
std::optional<json::value> ApiGroupDocument(const Registry& types, std::string_view group);
std::optional<json::value> ApiResourceListDocument(const Registry& types, std::string_view group,
                                                   std::string_view version);
json::value VersionDocument();

}  // namespace basalt::kubesim
