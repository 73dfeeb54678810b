#pragma once

// What a new object gets from other objects: a pod its priority, a Service its address. Confined to the server's loop.
#include <cstdint>

#include "absl/status/status.h"
#include "kubesim/server/state/core.h"

namespace basalt::kubesim {

class References {
 public:
  explicit References(const Core& core) : core_(core) {}

  // Of an object that has passed AdmitCreate. 403 for a PriorityClass that is not there or a priority that differs.
  absl::Status Resolve(const TypeInfo& type, json::value& object);

 private:
  absl::Status ResolvePriority(const TypeInfo& type, json::value& pod) const;

  const Core& core_;
  uint32_t next_cluster_ip_ = 1;
};

// The classes that every cluster has.
json::value SystemPriorityClass(std::string_view name, int64_t value);

}  // namespace basalt::kubesim
