#include "kubesim/server/controllers/namespaces.h"

#include <vector>

namespace basalt::kubesim {

NamespaceController::NamespaceController(Core& core, ObjectWriter& writer, Deleter& deleter)
    : core_(core), writer_(writer), deleter_(deleter), wakeup_(core.tasks, [this] { Run(); }) {
  core_.store.AddListener([this](const std::string& resource, const Change& change) { OnChange(resource, change); });
}

void NamespaceController::OnChange(const std::string& resource, const Change& change) {
  if (resource == "namespaces") {
    if (change.after == nullptr) {
      terminating_.erase(change.key.name);
    } else if (IsBeingDeleted(change.after->object())) {
      terminating_.try_emplace(change.key.name);
      wakeup_.Ask();
    }
    return;
  }
  const auto found = terminating_.find(change.key.ns);
  if (found == terminating_.end()) return;
  if (change.before == nullptr) found->second.erase(resource);
  if (change.before == nullptr || change.after == nullptr) wakeup_.Ask();
}

void NamespaceController::Run() {
  int budget = kSweptPerTask;
  std::vector<std::string> empty;
  for (auto& [ns, sweeps] : terminating_) {
    bool asked = true;
    for (const TypeInfoPtr& type : core_.types.AllStorage()) {
      if (type->namespaced && !sweeps[type->Resource()].Advance(deleter_, *type, ns, budget)) asked = false;
    }
    if (!asked) {
      wakeup_.Ask();
    } else if (IsEmpty(ns)) {
      empty.push_back(ns);
    }
  }
  const TypeInfoPtr type = core_.types.Storage("namespaces");
  for (const std::string& ns : empty) {
    writer_
        .Mutate(*type, {"", ns},
                [](json::value& object) {
                  json::value& spec = object.as_object()["spec"];
                  if (spec.is_object()) spec.get_object().erase("finalizers");
                })
        .IgnoreError();
  }
}

bool NamespaceController::IsEmpty(const std::string& ns) const {
  for (const TypeInfoPtr& type : core_.types.AllStorage()) {
    if (type->namespaced && core_.store.HasAnyIn(type->Resource(), ns)) return false;
  }
  return true;
}

}  // namespace basalt::kubesim
