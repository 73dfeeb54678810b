#pragma once

// Makes the common parts of requests to the gateway: the object of the request, and the patch of an object by its UID.
// Pure.
#include <string>
#include <string_view>

#include "basalt/gateway/v1/gateway.pb.h"
#include "common/kube/kinds.h"

namespace basalt::kube {

gateway::v1::Resource ResourceOf(const Kind& kind);

// Return a request about the object of that name. `ns` is empty for a kind without namespaces, `name` for a collection.
// The caller adds the operation of a write.
gateway::v1::WriteRequest WriteOf(const Kind& kind, std::string_view ns, std::string_view name);
gateway::v1::GetRequest GetOf(const Kind& kind, std::string_view ns, std::string_view name);

// Makes the request a merge patch of the object of that UID, by our field manager.
gateway::v1::Patch& SetMergePatch(std::string body, std::string_view uid, gateway::v1::WriteRequest& request);
// Does the same with a patch that sets the annotation to "true".
gateway::v1::Patch& SetAnnotation(std::string_view annotation, std::string_view uid,
                                  gateway::v1::WriteRequest& request);

}  // namespace basalt::kube
