#pragma once

// The Events that pgsvc records on pods and Kartas. Pure.
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "common/kube/event.h"
#include "common/kube/kinds.h"
#include "services/pgsvc/core/grouping/karta/karta.h"

namespace basalt::pgsvc {

// Returns a warning about the pod.
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

// Returns a warning about the Karta. Kartas have no namespace.
inline kube::Event WarningOnKarta(std::string_view name, std::string_view uid, std::string_view message) {
  return {.api_version = kKartaApiVersion,
          .kind = kKartaKind,
          .ns = {},
          .name = std::string(name),
          .uid = std::string(uid),
          .warning = true,
          .reason = "KartaNotUsed",
          .message = std::string(message),
          .component = "basalt-pgsvc"};
}

}  // namespace basalt::pgsvc
