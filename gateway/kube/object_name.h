#pragma once

// The identity of a projected object, whatever its kind. Pure.
#include <cstdint>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::gateway {

// Views into the object.
struct ObjectName {
  std::string_view ns;
  std::string_view name;
  std::string_view uid;
  int64_t resource_version = 0;
  int64_t deletion_ms = 0;
};

ObjectName NameOf(const kube::v1::Object& object);

}  // namespace basalt::gateway
