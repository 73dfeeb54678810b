#pragma once

// Finds the next write of each group of the compat profile, and the links of its plain pods. Confined to the worker's
// loop.
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/reconcile/slot_map.h"
#include "common/runtime/controller.h"
#include "services/pgsvc/control/compat/compat_group.h"
#include "services/pgsvc/control/compat/compat_warnings.h"
#include "services/pgsvc/control/compat/job_calls.h"
#include "services/pgsvc/control/group/group_writes.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {

class CompatWrites final : private GroupWrites::Host {
 public:
  // All references outlive this object.
  CompatWrites(runtime::Context& context, CompatWarnings& warnings, const SlotMap<CompatGroup>& groups,
               const GroupingOptions& options);

  // Serves the calls about the group, and sends the next write and the links that are due.
  void Serve(const GroupRef& ref, CompatGroup& group);
  JobCalls& calls() { return calls_; }
  // Retries at once the groups whose last try has failed.
  void RetryFailed();
  // The group is dropped, or moves to another replica.
  void Forget(std::string_view scope) {
    if (const auto failed = failing_.find(scope); failed != failing_.end()) failing_.erase(failed);
  }

 private:
  GroupStep NextStep(const GroupRef& ref, CompatGroup& group);
  GroupStep StepToCreate(const GroupRef& ref, CompatGroup& group);
  GroupStep StepOfOwner(const GroupRef& ref, CompatGroup& group);
  GroupStep StepForEmpty(const GroupRef& ref, CompatGroup& group);
  GroupStep StepToDelete(const GroupRef& ref, CompatGroup& group, GroupDecision decision);
  // Restores owner references that somebody has removed: without an owner Kubernetes never collects the group.
  void RestoreOwners(const GroupRef& ref, CompatGroup& group);
  // Creates the group for the pod. Before that, reads the owners that count and are missing in `facts`.
  void CreateFor(const GroupRef& ref, CompatGroup& group, const kube::v1::Pod& pod, OwnerFacts facts);
  absl::StatusOr<std::string> BodyFor(std::string_view name, const CompatGroup& group, const kube::v1::Pod& pod,
                                      const OwnerFacts& facts) const;
  // `fact` is nullopt if the owner could not be read.
  using OnOwner = std::function<void(CompatGroup& group, std::optional<OwnerFact> fact)>;
  void ReadOwner(const GroupRef& ref, CompatGroup& group, const OwnerResource& owner, OnOwner then);
  // Whether a write with that result is not due yet; a pass follows when it is.
  bool WaitsFor(const GroupRef& ref, const Pace& pace, const std::string& state);
  void TryLater(const GroupRef& ref, CompatGroup& group);
  // Resolves a write of unknown outcome, after the group was read: notes the decision if the group has the written
  // values.
  void NoteIfCarriedOut(const GroupRef& ref, CompatGroup& group);

  // ---- GroupWrites::Host ----
  CompatGroup* FindEntry(const GroupRef& ref) override { return groups_.Find(ref.scope); }
  const kube::v1::ObjectMeta* FindMeta(const GroupRef& ref) const override;
  void Publish(const GroupRef& ref) override { context_.Wake(ref.scope); }
  void Touch(const GroupRef& ref) override { context_.Wake(ref.scope); }
  void TouchAt(const GroupRef& ref, absl::Time when) override { context_.WakeAt(ref.scope, when); }
  void OnAnswer(const GroupRef& ref, GroupEntry& entry, const GroupStep& step, GroupAnswer& answer) override;
  void OnRead(const GroupRef& ref, GroupEntry& entry, Answer answer, const kube::v1::Object* found) override;
  ScopeLinks* FindScopeLinks(const std::string& scope) override;
  LinkStep NextLink(const GroupRef& ref, GroupEntry& entry, const std::string& pod_uid) override;
  PodLink* FindLink(const GroupRef& ref, const std::string& pod_uid) override;
  void OnLinked(const GroupRef& ref, GroupEntry& entry, const std::string& pod_uid, const PodLink& link,
                Meaning meaning) override;

  runtime::Context& context_;
  CompatWarnings& warnings_;
  const SlotMap<CompatGroup>& groups_;
  const GroupingOptions& options_;
  std::set<std::string, std::less<>> failing_;  // The scopes whose last try has failed.
  GroupWrites writes_;
  JobCalls calls_;
};

}  // namespace basalt::pgsvc
