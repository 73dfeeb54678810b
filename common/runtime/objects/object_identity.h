#pragma once

// The identity of an object of any kind. Pure functions, any thread.
#include <cstdint>
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::runtime {

// Has views into the object.
struct ObjectIdentity {
  std::string_view ns;
  std::string_view name;
  std::string_view uid;
  int64_t resource_version = 0;
};

// Returns empty views if no kind is set.
ObjectIdentity Identify(const kube::v1::Object& object);

// Returns the watch that has an object which this process has just made. Empty if no watch has it (generic kinds).
std::string WatchOf(const kube::v1::Object& object);

}  // namespace basalt::runtime
