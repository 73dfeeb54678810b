#pragma once

// Which object of Kubernetes a request to the gateway is about.
#include <string>
#include <string_view>

#include "basalt/gateway/v1/gateway.pb.h"

namespace basalt::jobsvc {

inline void SetResourceOf(std::string_view group, std::string_view version, std::string_view plural,
                          gateway::v1::Resource& resource) {
  resource.set_group(std::string(group));
  resource.set_version(std::string(version));
  resource.set_plural(std::string(plural));
}

// What to write is the caller's to add.
inline gateway::v1::WriteRequest WriteOf(std::string_view group, std::string_view version, std::string_view plural,
                                         const std::string& ns, const std::string& name) {
  gateway::v1::WriteRequest request;
  SetResourceOf(group, version, plural, *request.mutable_resource());
  request.set_namespace_(ns);
  request.set_name(name);
  return request;
}

// A refusal that people are told of. That a name is taken is settled; and overload would be made worse by the telling.
inline bool IsTold(const gateway::v1::KubeError& error) {
  return error.code() != 409 && error.code() != 429 && !(error.code() == 503 && error.retry_after_ms() > 0);
}

}  // namespace basalt::jobsvc
