#pragma once

// All groups of one profile whose slots this worker owns. A scope is a routing key with its pods, its groups, and the
// objects that the groups depend on: in the compat profile one group, in the others a namespace. Confined to the
// worker's loop.
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/podgroup/v1/pod_group_query.pb.h"
#include "common/runtime/controller.h"
#include "common/runtime/watch/publisher.h"
#include "services/pgsvc/control/explanation.h"
#include "services/pgsvc/control/group/group_entry.h"

namespace basalt::pgsvc {

class GroupScopes {
 public:
  virtual ~GroupScopes() = default;

  // ---- facts ----
  virtual void OpenSlot(uint32_t slot) = 0;
  virtual void CloseSlot(uint32_t slot) = 0;
  virtual void OnState(std::string_view scope, kube::v1::Object&& object) = 0;
  virtual void OnGone(std::string_view scope, const runtime::Gone& gone) = 0;
  // An object without a slot of its own, but for Volcano's queues.
  virtual void OnShared(const std::string& watch, const kube::v1::Object& object, bool gone) = 0;
  // The index of Volcano's queues has changed for these names.
  virtual void OnQueues(const std::set<std::string>& names) = 0;
  // A queue has opened: the groups whose last write failed are tried again at once.
  virtual void RetryFailed() = 0;

  // ---- passes, as of runtime::Controller ----
  virtual void Decide(std::string_view scope, kv::WriteBatch& batch) = 0;
  virtual void Act(std::string_view scope) = 0;

  // ---- what people see ----
  // Nullopt if there is no such group, and no pod wants one.
  virtual std::optional<podgroup::v1::PodGroup> Show(std::string_view scope, std::string_view name) const = 0;
  // The name of the group of that pod; empty if the pod is in none.
  virtual std::string_view GroupOf(std::string_view scope, std::string_view pod_name) const = 0;
  // Calls `visit` for each group of the slot that Show returns, and for those that are awaited.
  virtual void ForEachShown(uint32_t slot, const runtime::VisitObject& visit) const = 0;
  // The keys of all groups of the slot, as people see them.
  virtual void AddShownKeys(uint32_t slot, std::set<std::string>& keys) const = 0;
  // Loads a group that was published before the slot was opened, and that may have gone since.
  virtual void LoadShown(uint32_t slot, const std::string& shown_key, const storage::v1::PublishedObject& record,
                         std::vector<runtime::KnownObject>& known) = 0;
  // In the order of namespace and name, from that name on, until `visit` returns false.
  using VisitGroup = std::function<bool(const std::string& scope, const std::string& name)>;
  virtual void VisitFrom(std::string_view ns, std::string_view name, const VisitGroup& visit) const = 0;
  // Why the pod is in its group; nullopt if no such pod is grouped here.
  virtual std::optional<Explanation> Explain(std::string_view scope, std::string_view pod_name) const = 0;
};

}  // namespace basalt::pgsvc
