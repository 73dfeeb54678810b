#pragma once

// Sets the fields of a new object that depend on other objects: the priority of a pod, the address of a Service.
// Confined to the server's loop.
#include <cstdint>

#include "absl/status/status.h"
#include "kubesim/server/state/core.h"

namespace basalt::kubesim {

class References {
 public:
  explicit References(const Core& core) : core_(core) {}

  // Sets the fields of an object that has passed AdmitCreate. 403 if the PriorityClass does not exist or the object's
  // priority differs from it.
  absl::Status Resolve(const TypeInfo& type, json::value& object);

 private:
  absl::Status ResolvePriority(const TypeInfo& type, json::value& pod) const;

  const Core& core_;
  uint32_t next_cluster_ip_ = 1;
};

// Returns a PriorityClass of the kind that every cluster has.
json::value SystemPriorityClass(std::string_view name, int64_t value);

}  // namespace basalt::kubesim
