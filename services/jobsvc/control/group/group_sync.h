#pragma once

// The part of a job that has its PodGroup made, kept up to date and deleted: pgsvc writes it, and is asked here, one
// call about a job's group at a time. Lost with the process on purpose. On the controller's loop.
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "basalt/kube/v1/kube.pb.h"
#include "basalt/podgroup/v1/podgroup.pb.h"
#include "common/reconcile/retry.h"
#include "services/jobsvc/core/effects.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class GroupSync {
 public:
  // The job's group as the watch shows it.
  const GroupView& View(const JobEntry& entry) const;
  // Asks for what is to be made, changed or deleted.
  void Apply(JobEntry& entry, PartHost& host);
  // After a change of the group, the job's status or the spec.
  void Forget() {
    view_.reset();
    is_compared_ = false;
  }
  // What the spec wants of it may have changed.
  void CompareAnew() { is_compared_ = false; }
  // The spec has changed, or the state of the queue: what was refused before is asked for again at once.
  void TryNow() { retry_.Succeed(); }
  const Retry& retry() const { return retry_; }

 private:
  bool IsCompared(const JobEntry& entry) const;
  void Ensure(JobEntry& entry, const GroupView& group, kube::v1::PodGroupSpec spec, PartHost& host);
  void EnsureAnswered(JobEntry& entry, const absl::Status& status, PartHost& host);
  void Delete(JobEntry& entry, const GroupView& group, PartHost& host);
  void Deleted(JobEntry& entry, const std::string& group_uid, podgroup::v1::DeletePodGroupResponse answer,
               PartHost& host);
  // The entry if that very call is under way; it is over now.
  static JobEntry* EndCall(const std::string& key, const std::string& uid, uint64_t call, PartHost& host);

  mutable std::optional<GroupView> view_;  // Forgotten when anything changes that it follows from.
  bool is_compared_ = false;               // The group was, since it or the spec changed:
  bool agrees_ = false;                    // it has what the spec wants of it,
  uint64_t agrees_since_ = 0;              // with as much done as then (PodSet::done_changes),
  uint64_t starts_since_ = 0;              // and the same tasks begun (TaskFacts::start_changes).
  uint64_t call_ = 0;                      // Under way to pgsvc; 0: none.
  std::set<std::string> deleted_;          // UIDs whose deletion was answered.
  Retry retry_;
};

}  // namespace basalt::jobsvc
