#pragma once

// Carries out the deletion of namespaces: deletes the objects in a namespace, in slices, and then the namespace.
// Confined to the server's loop.
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
  std::map<std::string, std::map<std::string, Sweep>> terminating_;  // By namespace, then by resource.
  Wakeup wakeup_;
};

}  // namespace basalt::kubesim
