#pragma once

// What stands behind two kinds: namespaces empty themselves before they go, and custom resource definitions bring and
// take their kinds. Confined to the server's loop.
#include <set>
#include <string>

#include "kubesim/server/core.h"
#include "kubesim/server/deletion.h"
#include "kubesim/server/objects.h"

namespace basalt::kubesim {

// Empties namespaces that are being deleted, then lets them go.
class NamespaceController {
 public:
  NamespaceController(Core& core, ObjectWriter& writer, Deleter& deleter);

 private:
  void OnChange(const std::string& resource, const Change& change);
  void Schedule();
  void Run();
  bool Empty(const std::string& ns);

  Core& core_;
  ObjectWriter& writer_;
  Deleter& deleter_;
  std::set<std::string> terminating_;
  bool scheduled_ = false;
};

// Serves the kinds of the stored definitions; deletes the objects of a definition that is being deleted.
class CrdController {
 public:
  CrdController(Core& core, ObjectWriter& writer, Deleter& deleter);

 private:
  void OnChange(const std::string& resource, const Change& change);
  void Schedule();
  void Run();

  Core& core_;
  ObjectWriter& writer_;
  Deleter& deleter_;
  std::set<std::string> terminating_;
  bool scheduled_ = false;
};

}  // namespace basalt::kubesim
