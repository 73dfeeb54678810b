#pragma once

// Keeps the status of resource quotas: the limits and the amounts in use. Confined to the server's loop.
#include <set>
#include <string>

#include "kubesim/server/controllers/wakeup.h"
#include "kubesim/server/state/core.h"
#include "kubesim/server/write/objects.h"

namespace basalt::kubesim {

class QuotaController {
 public:
  QuotaController(Core& core, ObjectWriter& writer);

 private:
  void OnChange(const std::string& resource, const Change& change);
  void Run();

  Core& core_;
  ObjectWriter& writer_;
  std::set<std::string> changed_;  // Namespaces.
  Wakeup wakeup_;
};

}  // namespace basalt::kubesim
