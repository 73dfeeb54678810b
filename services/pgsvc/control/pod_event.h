#pragma once

// Events that pgsvc records on pods. Pure.
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "common/kube/event.h"
#include "common/kube/kinds.h"

namespace basalt::pgsvc {

// A warning about the pod.
inline kube::Event WarningOn(const kube::v1::Pod& pod, std::string_view reason, std::string_view message) {
  return {.api_version = kube::kPods.version,
          .kind = kube::kPods.name,
          .ns = pod.namespace_(),
          .name = pod.name(),
          .uid = pod.uid(),
          .warning = true,
          .reason = std::string(reason),
          .message = std::string(message),
          .component = "basalt-pgsvc"};
}

}  // namespace basalt::pgsvc
