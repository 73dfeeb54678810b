#pragma once

// Serves the kinds of the stored definitions. Deletes the objects of a definition that is being deleted, in slices.
// Confined to the server's loop.
#include <map>
#include <string>

#include "kubesim/server/controllers/sweep.h"
#include "kubesim/server/controllers/wakeup.h"
#include "kubesim/server/state/core.h"
#include "kubesim/server/write/deletion.h"
#include "kubesim/server/write/objects.h"

namespace basalt::kubesim {

class CrdController {
 public:
  CrdController(Core& core, ObjectWriter& writer, Deleter& deleter);

 private:
  void OnChange(const std::string& resource, const Change& change);
  void Run();

  Core& core_;
  ObjectWriter& writer_;
  Deleter& deleter_;
  std::map<std::string, Sweep> terminating_;  // By the definition's name, which is also the resource's.
  Wakeup wakeup_;
};

}  // namespace basalt::kubesim
