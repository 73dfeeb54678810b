#include "kubesim/server/controllers.h"

#include <vector>

#include "kubesim/schema/crd/crd.h"

namespace basalt::kubesim {
namespace {

constexpr char kCrds[] = "customresourcedefinitions.apiextensions.k8s.io";

}  // namespace

NamespaceController::NamespaceController(Core& core, ObjectWriter& writer, Deleter& deleter)
    : core_(core), writer_(writer), deleter_(deleter) {
  core_.store.AddListener([this](const std::string& resource, const Change& change) { OnChange(resource, change); });
}

void NamespaceController::OnChange(const std::string& resource, const Change& change) {
  if (resource == "namespaces") {
    if (change.after == nullptr) {
      terminating_.erase(change.key.name);
    } else if (IsBeingDeleted(change.after->object())) {
      terminating_.insert(change.key.name);
      Schedule();
    }
    return;
  }
  if (change.after == nullptr && terminating_.contains(change.key.ns)) Schedule();
}

void NamespaceController::Schedule() {
  if (scheduled_) return;
  scheduled_ = true;
  core_.tasks.Post([this] {
    scheduled_ = false;
    Run();
  });
}

void NamespaceController::Run() {
  const std::set<std::string> names = terminating_;
  const TypeInfoPtr type = core_.types.Storage("namespaces");
  for (const std::string& ns : names) {
    if (!Empty(ns)) continue;
    writer_
        .Mutate(*type, {"", ns},
                [](json::value& object) {
                  json::value& spec = object.as_object()["spec"];
                  if (spec.is_object()) spec.get_object().erase("finalizers");
                })
        .IgnoreError();
  }
}

bool NamespaceController::Empty(const std::string& ns) {
  bool empty = true;
  for (const TypeInfoPtr& type : core_.types.AllStorage()) {
    if (type->namespaced && !deleter_.DeleteAllIn(*type, ns)) empty = false;
  }
  return empty;
}

CrdController::CrdController(Core& core, ObjectWriter& writer, Deleter& deleter)
    : core_(core), writer_(writer), deleter_(deleter) {
  core_.store.AddListener([this](const std::string& resource, const Change& change) { OnChange(resource, change); });
}

void CrdController::OnChange(const std::string& resource, const Change& change) {
  if (resource != kCrds) {
    if (change.after == nullptr && terminating_.contains(resource)) Schedule();
    return;
  }
  if (change.after == nullptr) {
    terminating_.erase(change.key.name);
    core_.types.Remove(change.key.name);
    return;
  }
  if (IsBeingDeleted(change.after->object())) {
    terminating_.insert(change.key.name);
    Schedule();
    return;
  }
  const absl::StatusOr<CustomResource> loaded = LoadCrd(change.after->object());
  if (!loaded.ok()) return;  // Refused before it was stored.
  core_.types.Remove(change.key.name);
  for (const TypeInfoPtr& type : loaded->versions) core_.types.Add(type);
}

void CrdController::Schedule() {
  if (scheduled_) return;
  scheduled_ = true;
  core_.tasks.Post([this] {
    scheduled_ = false;
    Run();
  });
}

void CrdController::Run() {
  const std::set<std::string> names = terminating_;
  const TypeInfoPtr type = core_.types.Storage(kCrds);
  for (const std::string& name : names) {
    const TypeInfoPtr served = core_.types.Storage(name);
    if (served != nullptr && !deleter_.DeleteAllIn(*served, "")) continue;
    writer_.Mutate(*type, {"", name}, [](json::value& object) { RemoveFinalizer(object, kCrdFinalizer); })
        .IgnoreError();
  }
}

}  // namespace basalt::kubesim
