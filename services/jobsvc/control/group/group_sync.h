#pragma once

// The part of a job that has its PodGroup created, kept up to date and deleted. pgsvc writes the group; this part calls
// pgsvc, one call about a job's group at a time. Its state is lost with the process on purpose. Runs on the
// controller's loop.
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "basalt/kube/v1/kube.pb.h"
#include "basalt/podgroup/v1/podgroup.pb.h"
#include "common/reconcile/effect.h"
#include "services/jobsvc/core/effects.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class GroupSync {
 public:
  // The job's group as the watch shows it.
  const GroupView& View(const JobEntry& entry) const;
  // Calls pgsvc if the group has to be created, changed or deleted.
  void Apply(JobEntry& entry, PartHost& host);
  // Call after a change of the group, the job's status or the spec.
  void Forget() {
    view_.reset();
    is_compared_ = false;
  }
  // Call when the group that the spec wants may have changed.
  void CompareAnew() { is_compared_ = false; }
  // The spec has changed, or the state of the queue: a call that was refused is due again at once.
  void TryNow() { call_.retry().Succeed(); }
  const Retry& retry() const { return call_.retry(); }

 private:
  bool IsCompared(const JobEntry& entry) const;
  void Ensure(JobEntry& entry, const GroupView& group, kube::v1::PodGroupSpec spec, PartHost& host);
  void EnsureAnswered(JobEntry& entry, const absl::Status& status, PartHost& host);
  void Delete(JobEntry& entry, const GroupView& group, PartHost& host);
  void DeleteAnswered(JobEntry& entry, const std::string& group_uid,
                      absl::StatusOr<podgroup::v1::DeletePodGroupResponse> response, PartHost& host);
  void Begin(uint64_t call);
  // Returns the entry if that very call is under way for it, else null.
  static JobEntry* Find(const std::string& key, const std::string& uid, uint64_t call, PartHost& host);

  mutable std::optional<GroupView> view_;  // Reset when anything changes from which the view follows.
  bool is_compared_ = false;               // Compared since the group or the spec last changed.
  bool agrees_ = false;                    // Result of that comparison.
  uint64_t agrees_since_ = 0;              // DoneIndices::changes at that time.
  uint64_t starts_since_ = 0;              // TaskFacts::start_changes at that time.
  Effect call_;                            // The call to pgsvc.
  uint64_t number_ = 0;                    // The number of the newest call. Calls of an earlier entry have others.
  std::set<std::string> deleted_;          // UIDs of groups whose deletion was answered.
};

}  // namespace basalt::jobsvc
