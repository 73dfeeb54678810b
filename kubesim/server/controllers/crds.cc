#include "kubesim/server/controllers/crds.h"

#include <vector>

#include "kubesim/schema/crd/crd.h"

namespace basalt::kubesim {
namespace {

constexpr char kCrds[] = "customresourcedefinitions.apiextensions.k8s.io";

}  // namespace

CrdController::CrdController(Core& core, ObjectWriter& writer, Deleter& deleter)
    : core_(core), writer_(writer), deleter_(deleter), wakeup_(core.tasks, [this] { Run(); }) {
  core_.store.AddListener([this](const std::string& resource, const Change& change) { OnChange(resource, change); });
}

void CrdController::OnChange(const std::string& resource, const Change& change) {
  if (resource != kCrds) {
    const auto found = terminating_.find(resource);
    if (found == terminating_.end()) return;
    if (change.before == nullptr) found->second = Sweep();
    if (change.before == nullptr || change.after == nullptr) wakeup_.Ask();
    return;
  }
  if (change.after == nullptr) {
    terminating_.erase(change.key.name);
    core_.types.Remove(change.key.name);
    return;
  }
  if (IsBeingDeleted(change.after->object())) {
    terminating_.try_emplace(change.key.name);
    wakeup_.Ask();
    return;
  }
  const absl::StatusOr<CustomResource> loaded = LoadCrd(change.after->object());
  if (!loaded.ok()) return;  // The write path refuses such a definition before it is stored.
  core_.types.Remove(change.key.name);
  for (const TypeInfoPtr& type : loaded->versions) core_.types.Add(type);
  if (change.before == nullptr) return;
  // Apply the new schema to the objects that are stored already.
  const TypeInfoPtr storage = core_.types.Storage(change.key.name);
  if (storage == nullptr || storage->schema == nullptr) return;
  core_.store.Reread(change.key.name, [&](json::value& object) { storage->schema->PruneAndDefault(object); });
}

void CrdController::Run() {
  int budget = kSweptPerTask;
  std::vector<std::string> empty;
  for (auto& [name, sweep] : terminating_) {
    const TypeInfoPtr served = core_.types.Storage(name);
    if (served != nullptr && !sweep.Advance(deleter_, *served, "", budget)) {
      wakeup_.Ask();
    } else if (served == nullptr || core_.store.Count(name) == 0) {
      empty.push_back(name);
    }
  }
  const TypeInfoPtr type = core_.types.Storage(kCrds);
  for (const std::string& name : empty) {
    writer_.Mutate(*type, {"", name}, [](json::value& object) { RemoveFinalizer(object, kCrdFinalizer); })
        .IgnoreError();
  }
}

}  // namespace basalt::kubesim
