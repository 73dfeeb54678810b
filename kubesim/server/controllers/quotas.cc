#include "kubesim/server/controllers/quotas.h"

#include <utility>
#include <vector>

#include "kubesim/server/admission/quota.h"

namespace basalt::kubesim {

QuotaController::QuotaController(Core& core, ObjectWriter& writer)
    : core_(core), writer_(writer), wakeup_(core.tasks, [this] { Run(); }) {
  core_.store.AddListener([this](const std::string& resource, const Change& change) { OnChange(resource, change); });
}

void QuotaController::OnChange(const std::string& resource, const Change& change) {
  if (change.key.ns.empty() || core_.store.Count(kQuotas) == 0) return;
  if (resource != kQuotas && !core_.store.HasAnyIn(kQuotas, change.key.ns)) return;
  changed_.insert(change.key.ns);
  wakeup_.Ask();
}

void QuotaController::Run() {
  const TypeInfoPtr type = core_.types.Storage(kQuotas);
  for (const std::string& ns : std::exchange(changed_, {})) {
    std::vector<ObjectKey> quotas;
    core_.store.Visit(kQuotas, ns, nullptr, [&](const ObjectKey& key, const RevisionPtr&) {
      quotas.push_back(key);
      return true;
    });
    for (const ObjectKey& key : quotas) {
      writer_
          .Mutate(*type, key,
                  [&](json::value& quota) {
                    const json::value* hard = FindPath(quota, {"spec", "hard"});
                    json::value limited = hard == nullptr ? json::value(json::object()) : *hard;
                    json::object used = QuotaUsed(core_, quota);
                    quota.as_object()["status"] = {{"hard", std::move(limited)}, {"used", std::move(used)}};
                  })
          .IgnoreError();
    }
  }
}

}  // namespace basalt::kubesim
