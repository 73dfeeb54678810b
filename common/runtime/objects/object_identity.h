#pragma once

// Who an object is, whatever its kind.
#include <cstdint>
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::runtime {

// Views into the object.
struct ObjectIdentity {
  std::string_view ns;
  std::string_view name;
  std::string_view uid;
  int64_t resource_version = 0;
};

// All empty when no kind is set.
ObjectIdentity Identify(const kube::v1::Object& object);

// The watch that shows an object which we have just made ourselves; empty when none does (generic kinds).
std::string WatchOf(const kube::v1::Object& object);

}  // namespace basalt::runtime
