#pragma once

// Namespaces that are being deleted: first what is in them goes, in slices, then they do. Confined to the server's
// loop.
#include <map>
#include <string>

#include "kubesim/server/controllers/sweep.h"
#include "kubesim/server/controllers/wakeup.h"
#include "kubesim/server/state/core.h"
#include "kubesim/server/write/deletion.h"
#include "kubesim/server/write/objects.h"

namespace basalt::kubesim {

class NamespaceController {
 public:
  NamespaceController(Core& core, ObjectWriter& writer, Deleter& deleter);

 private:
  void OnChange(const std::string& resource, const Change& change);
  void Run();
  bool IsEmpty(const std::string& ns) const;

  Core& core_;
  ObjectWriter& writer_;
  Deleter& deleter_;
  std::map<std::string, std::map<std::string, Sweep>> terminating_;  // By name, then by resource.
  Wakeup wakeup_;
};

}  // namespace basalt::kubesim
