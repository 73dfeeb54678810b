#pragma once

// The groups of one profile (kube::GroupProfile) in the slots that this worker owns. A scope is one routing key with
// its pods, its groups, and the objects that the groups depend on: one group in the compat profile, a namespace in the
// others. Confined to the worker's loop.
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
  // Gets an object of runtime::Controller::OnShared, except for Volcano's queues.
  virtual void OnShared(const std::string& watch, const kube::v1::Object& object, bool gone) = 0;
  // The index of Volcano's queues (QueueIndex) has changed for these names.
  virtual void OnQueues(const std::set<std::string>& names) = 0;
  // The state of a queue has changed: retries at once the groups whose last write has failed (weakness W9).
  virtual void RetryFailed() = 0;

  // ---- passes: see runtime::Controller ----
  virtual void Decide(std::string_view scope, kv::WriteBatch& batch) = 0;
  virtual void Act(std::string_view scope) = 0;

  // ---- for clients ----
  // Returns the group as clients get it. Nullopt if the group is not observed, unless a pod wants it and it is not
  // awaited (GroupEntry::is_awaited).
  virtual std::optional<podgroup::v1::PodGroup> Show(std::string_view scope, std::string_view name) const = 0;
  // Returns the name of the pod's group; empty if the pod is in none.
  virtual std::string_view GroupOf(std::string_view scope, std::string_view pod_name) const = 0;
  // Calls `visit` for each group of the slot that Show() returns, and for each awaited group.
  virtual void ForEachPublished(uint32_t slot, const runtime::VisitObject& visit) const = 0;
  // Adds the kube::ShownGroupKey of each group of the slot, published or not.
  virtual void AddPublishedKeys(uint32_t slot, std::set<std::string>& keys) const = 0;
  // Loads a group that was published before the slot was opened, and that may have gone since. Adds the group to
  // `known` if Kubernetes had it then.
  virtual void LoadPublished(uint32_t slot, const std::string& published_key,
                             const storage::v1::PublishedObject& record, std::vector<runtime::KnownObject>& known) = 0;
  // Visits the groups in the order of namespace and name, from the given name on, until `visit` returns false. Begins
  // with the first group if `ns` is empty.
  using VisitGroup = std::function<bool(const std::string& scope, const std::string& name)>;
  virtual void VisitFrom(std::string_view ns, std::string_view name, const VisitGroup& visit) const = 0;
  // Explains why the pod is in its group. Nullopt if the scope has no such pod.
  virtual std::optional<Explanation> Explain(std::string_view scope, std::string_view pod_name) const = 0;
};

}  // namespace basalt::pgsvc
