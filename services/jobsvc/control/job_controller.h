#pragma once

// The job controller: one per worker; everything runs on the worker's loop (common/runtime/controller.h). A pass is
//   apply changes -> Decide (core/decide/decide.h) -> record the intent -> one status patch -> effects -> record done
// and may be cut off between any two of these steps by the end of the process or the loss of its disk (design rule 3).
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/history/retention.h"
#include "common/kv/damage.h"
#include "common/reconcile/slot_map.h"
#include "common/runtime/controller.h"
#include "common/runtime/watch/publisher.h"
#include "services/jobsvc/control/cluster/cluster_queues.h"
#include "services/jobsvc/control/cluster/priority_classes.h"
#include "services/jobsvc/control/history/job_history.h"
#include "services/jobsvc/control/job_entry.h"
#include "services/jobsvc/control/job_events.h"
#include "services/jobsvc/control/job_metrics.h"
#include "services/jobsvc/control/objects/claim_waits.h"
#include "services/jobsvc/control/part_host.h"
#include "services/jobsvc/control/status/commit_outcome.h"

namespace basalt::jobsvc {

class JobController : public runtime::Controller {
 public:
  // `context`, `keys` and `metrics` outlive the controller.
  JobController(runtime::Context& context, KeyMaker& keys, JobMetrics& metrics, JobControllerOptions options = {});
  ~JobController() override = default;

  absl::StatusOr<std::vector<runtime::KnownObject>> OpenSlot(uint32_t slot) override;
  void CloseSlot(uint32_t slot) override;
  void OnState(std::string_view routing_key, const std::string& watch, kube::v1::Object&& object) override;
  void OnGone(std::string_view routing_key, const runtime::Gone& gone) override;
  void OnShared(const std::string& watch, const kube::v1::Object& object, bool gone) override;
  void Decide(std::string_view key, kv::WriteBatch& batch) override;
  void Act(std::string_view key) override;

  // ---- for api/; on the loop ----
  const JobEntry* Find(std::string_view key) const;
  const SlotMap<JobEntry>& entries() const { return entries_; }
  runtime::Context& context() { return context_; }
  EffectInput ViewOf(const JobEntry& entry, const std::set<std::string>& busy) const {
    return host_.ViewOf(entry, busy);
  }
  static const GroupView& GroupOf(const JobEntry& entry) { return entry.group_sync.View(entry); }
  QueueView QueueOf(const JobEntry& entry) const { return host_.QueueOf(entry); }
  const ClusterQueues& queues() const { return queues_; }
  const HistoryStore& history() const { return history_.store(); }
  // Reads from the store. Entries that cannot be read are dropped.
  auto HistoryOf(uint32_t slot, std::string_view job_uid) { return history_.Read(slot, job_uid); }
  auto HistoryEntryOf(uint32_t slot, std::string_view job_uid, int64_t sequence) {
    return history_.ReadOne(slot, job_uid, sequence);
  }
  auto RecordedSpecOf(const JobEntry& entry) { return history_.ReadRecordedSpec(entry); }
  runtime::Publisher& publisher() { return publisher_; }
  void ForEachShown(uint32_t slot, const runtime::VisitObject& visit);

 private:
  // -- job_controller.cc, start_job.cc, recompile.cc, pass.cc: observations, decisions and records --
  JobEntry& EntryOf(std::string_view key);
  JobEntry* Lookup(std::string_view key) const;
  void Erase(JobEntry& entry);
  // Stops following the job's queue and priority classes.
  void StopFollowing(const JobEntry& entry);
  void StartJob(JobEntry& entry, kv::WriteBatch& batch);
  void Recompile(JobEntry& entry, kv::WriteBatch& batch);
  // Applies the changes of pods, group and commands, and makes the decision that follows.
  void ApplyChanges(JobEntry& entry, bool is_resolved, kv::WriteBatch& batch);
  void DecideStatus(JobEntry& entry);
  void ReceivePriorityClass(const kube::v1::PriorityClass& priority_class, bool gone);
  void ReceiveQueue(const kube::v1::Queue& queue, bool gone);
  void Forget(JobEntry& entry, kv::WriteBatch& batch);

  // -- damaged_records.cc: records that cannot be read --
  // Drops the damaged records, all records of the `incomplete` jobs, and the record of what was published to watching
  // clients, as if the disk were empty.
  absl::Status BeginAnew(uint32_t slot, const std::set<std::string>& incomplete, const kv::Damage& damage);

  PartHost host_;
  runtime::Context& context_;
  JobMetrics& metrics_;
  SlotMap<JobEntry>& entries_;
  PriorityClasses priority_classes_;
  ClusterQueues& queues_;
  runtime::Publisher publisher_;
  JobEvents events_;
  JobHistory history_;
  CommitOutcome outcome_;
};

}  // namespace basalt::jobsvc
