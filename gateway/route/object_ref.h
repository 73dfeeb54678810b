#pragma once

// The metadata that every projected object has, whatever its kind. Pure.
#include <cstdint>
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::gateway {

// Views into the object, valid while it is unchanged. All are empty if the object has no kind.
struct ObjectRef {
  std::string_view ns;
  std::string_view name;
  std::string_view uid;
  int64_t resource_version = 0;
  int64_t deletion_ms = 0;
};

ObjectRef RefOf(const kube::v1::Object& object);

void SetResourceVersion(kube::v1::Object& object, int64_t resource_version);

// Returns only kind, namespace, name, uid and resourceVersion: the part that remains of a tombstone over its bound.
kube::v1::Object IdentityOf(const kube::v1::Object& object);

}  // namespace basalt::gateway
