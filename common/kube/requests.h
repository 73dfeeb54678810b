#pragma once

// Requests to the gateway, as far as they are alike whoever makes them: which object they are about, and the patch of
// an object that is known by its UID. Pure.
#include <string>
#include <string_view>

#include "basalt/gateway/v1/gateway.pb.h"
#include "common/kube/kinds.h"

namespace basalt::kube {

gateway::v1::Resource ResourceOf(const Kind& kind);

// About the object of that name; `ns` is empty for a kind without namespaces, `name` for a collection. What is to be
// done with the object is the caller's to add.
gateway::v1::WriteRequest WriteOf(const Kind& kind, std::string_view ns, std::string_view name);
gateway::v1::GetRequest GetOf(const Kind& kind, std::string_view ns, std::string_view name);

// Makes the request a merge patch of the object of that UID, by our field manager.
gateway::v1::Patch& SetMergePatch(std::string body, std::string_view uid, gateway::v1::WriteRequest& request);
// The same, which sets the annotation to "true".
gateway::v1::Patch& SetAnnotation(std::string_view annotation, std::string_view uid,
                                  gateway::v1::WriteRequest& request);

}  // namespace basalt::kube
