#pragma once

// The job controller: one per worker, everything on the worker's loop (common/runtime/controller.h). A pass is
//   judge what changed -> Decide (core/decide.h) -> record the intent -> one status patch -> effects -> record done
// and may be cut off between any two of these by the end of the process or the loss of its disk (design rule 3).
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/history/retention.h"
#include "common/kv/damage.h"
#include "common/reconcile/slot_map.h"
#include "common/runtime/controller.h"
#include "common/runtime/events/event_recorder.h"
#include "common/watch/revision_log.h"
#include "common/watch/watch_position.h"
#include "services/jobsvc/control/claim_waits.h"
#include "services/jobsvc/control/cluster_queues.h"
#include "services/jobsvc/control/job_entry.h"
#include "services/jobsvc/control/job_metrics.h"
#include "services/jobsvc/core/plugins/ssh/key_source.h"
#include "services/jobsvc/store/history_store.h"

namespace basalt::jobsvc {

// Makes key pairs away from the loop; `done` comes on the loop that asked.
class KeyMaker {
 public:
  virtual ~KeyMaker() = default;
  virtual void MakeKeys(std::string seed, std::function<void(absl::StatusOr<SshKeyPair>)> done) = 0;
};

struct JobControllerOptions {
  DefaultOptions defaults;
  size_t max_in_flight_per_job = 64;
  absl::Duration counts_delay = absl::Seconds(3);     // From the first difference to a write of counts alone.
  absl::Duration counts_interval = absl::Seconds(5);  // At least this between two writes when counts alone differ.
  absl::Duration event_interval = absl::Minutes(5);   // Between two writes of one Event.
  history::Limits history_limits;
};

// What people see of a job has changed, and is recorded; or the slot is not ours any more.
struct ShownChange {
  enum class Kind {
    kShown,
    kGone,
    kUnseen,  // It has gone before it was ever shown.
    kClosed
  };
  Kind kind;
  uint32_t slot = 0;
  watch::WatchPosition position;
  std::string key;                  // Not of kClosed.
  std::string uid;                  // Of kGone.
  const JobEntry* entry = nullptr;  // Of kShown.
};

class JobController : public runtime::Controller {
 public:
  // `context`, `keys` and `metrics` outlive the controller.
  JobController(runtime::Context& context, KeyMaker& keys, JobMetrics& metrics, JobControllerOptions options = {});
  ~JobController() override;

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
  EffectInput ViewOf(const JobEntry& entry, const std::set<std::string>& busy) const;
  const GroupView& GroupOf(const JobEntry& entry) const;
  QueueView QueueOf(const JobEntry& entry) const;
  // Its queue has other clusters.
  bool IsForwarded(const JobEntry& entry) const;
  const ClusterQueues& queues() const { return queues_; }
  const HistoryStore& history() const { return history_; }
  // Null while the slot is not open here.
  const watch::RevisionLog* WatchOf(uint32_t slot) const;
  // From the store; what cannot be read of it is dropped.
  absl::StatusOr<std::vector<storage::v1::HistoryRecord>> HistoryOf(uint32_t slot, std::string_view job_uid);
  absl::StatusOr<std::optional<storage::v1::HistoryRecord>> HistoryEntryOf(uint32_t slot, std::string_view job_uid,
                                                                           int64_t sequence);
  absl::StatusOr<std::optional<storage::v1::SpecRecord>> RecordedSpecOf(const JobEntry& entry);
  using Listener = std::function<void(const ShownChange& change)>;
  void SetListener(Listener listener) { listener_ = std::move(listener); }

 private:
  // -- job_controller.cc, pass.cc, observed_changes.cc, commit_outcome.cc: what is heard, judged and recorded --
  JobEntry& EntryOf(std::string_view key);
  JobEntry* Lookup(std::string_view key) const;
  void Erase(JobEntry& entry);
  void LeaveQueue(const JobEntry& entry);
  void ReceiveJob(JobEntry& entry, kube::v1::Job&& job);
  void Recompile(JobEntry& entry, kv::WriteBatch& batch);
  void StartJob(JobEntry& entry, kv::WriteBatch& batch);
  void Rebaseline(JobEntry& entry, kv::WriteBatch& batch);
  void RecordLateCommit(JobEntry& entry, kv::WriteBatch& batch);
  bool ResolvePendingCommit(JobEntry& entry, kv::WriteBatch& batch);
  void ApplyPodChanges(JobEntry& entry, kv::WriteBatch& batch);
  void ApplyPodChange(JobEntry& entry, const std::string& name, DirtyPod& dirty, std::vector<JobEvent>& events,
                      kv::WriteBatch& batch);
  void ApplyPodGroupChanges(JobEntry& entry, std::vector<JobEvent>& events);
  void ReportScheduling(JobEntry& entry, const kube::v1::PodGroup& group);
  void EnqueueNextCommand(JobEntry& entry);
  void QueueActions(JobEntry& entry, std::vector<JobEvent> events);
  void FireDueDeadlines(JobEntry& entry, kv::WriteBatch& batch);
  static void StoreDeadlines(JobEntry& entry, kv::WriteBatch& batch);
  void DeriveDeadlines(JobEntry& entry);
  static void AdoptDeadlines(JobEntry& entry);
  static void ClearDeadlines(JobEntry& entry, const std::vector<storage::v1::PendingAction>& done);
  void DecideStatus(JobEntry& entry);
  void RecordIntent(JobEntry& entry, Decision decision);
  void DropIntent(JobEntry& entry);
  void NoteShown(JobEntry& entry, kv::WriteBatch& batch);
  void ReceiveQueue(const kube::v1::Queue& queue, bool gone);
  void ReportQueue(JobEntry& entry);
  void NoteGone(JobEntry& entry, kv::WriteBatch& batch);
  void PublishChanges();
  void Forget(JobEntry& entry, kv::WriteBatch& batch);
  void OpenKill(JobEntry& entry, int64_t sequence, kv::WriteBatch& batch);
  void RecordKillEnd(JobEntry& entry, kv::WriteBatch& batch);
  void AddToOutcome(JobEntry& entry, std::string_view words, kv::WriteBatch& batch);
  // After a change of the spec.
  void RecordSpecEdit(JobEntry& entry, kv::WriteBatch& batch);
  void RecordTtlDeletion(JobEntry& entry, kv::WriteBatch& batch);
  void TrimHistory(JobEntry& entry, kv::WriteBatch& batch);
  void AgeHistoryLater();
  void AgeHistory(uint32_t slot, const std::set<std::string>& keys);
  void StorePod(JobEntry& entry, const PodChange& change, const kube::v1::Pod* pod, kv::WriteBatch& batch);
  static void KeepEndedPod(JobEntry& entry, const PodEntry& pod, kv::WriteBatch& batch);
  // Those of older versions than this.
  static void ForgetEndedPods(JobEntry& entry, int32_t version, kv::WriteBatch& batch);
  void ForgetReportedDone(JobEntry& entry, kv::WriteBatch& batch);
  std::map<std::string, std::string> MarkersOf(const JobEntry& entry) const;

  // -- act.cc: what is sent --
  void SendStatus(JobEntry& entry);
  // The entry if that very commit is under way.
  JobEntry* Committing(const std::string& key, const std::string& uid, const std::string& nonce);
  void ResolveUnknownStatusWrite(const std::string& key, const std::string& uid, const std::string& nonce);
  void ActOnCommands(JobEntry& entry);
  void ActOnForwarding(JobEntry& entry);
  void ActOnPods(JobEntry& entry);
  void ReportHeldName(JobEntry& entry);
  void CreatePod(JobEntry& entry, const PodEffect& effect);
  void CreateRefused(JobEntry& entry, int32_t task);
  void CountCreated(const JobEntry& entry, const kube::v1::Pod& pod);
  // `taken`: what was answered where the name is taken; null: nobody knows what became of the create.
  void ResolveUnknownCreate(const std::string& key, const std::string& uid, const PodEffect& effect, absl::Time sent,
                            const gateway::v1::KubeError* taken);
  void CreateAnswered(JobEntry& entry, const PodEffect& effect, const gateway::v1::KubeError& error);
  void DeletePod(JobEntry& entry, const PodEffect& effect);
  void KillRefused(JobEntry& entry, const std::string& pod, const gateway::v1::KubeError& error);
  bool HoldsDeletes(JobEntry& entry);
  void DeletePods(JobEntry& entry, const PodCollection& collection);
  void MarkPod(JobEntry& entry, const PodEffect& effect);
  void ActOnTtl(JobEntry& entry);
  // Words that differ in `names` alone have one cause.
  void AddProblem(JobEntry& entry, Problem problem, std::initializer_list<std::string_view> names = {});
  // And its pass is due.
  void ReportProblem(JobEntry& entry, Problem problem, std::initializer_list<std::string_view> names = {});
  void ReportProblem(JobEntry& entry, std::string_view reason, std::string message,
                     std::initializer_list<std::string_view> names = {});
  // Backs off one step, and looks at the job again after it.
  void TryAgain(JobEntry& entry, Retry& retry);

  // -- act_group.cc: its PodGroup, by calls of pgsvc --
  void ActOnGroup(JobEntry& entry);
  void EnsureGroup(JobEntry& entry, const GroupView& group, kube::v1::PodGroupSpec spec);
  void DeleteGroup(JobEntry& entry, const GroupView& group);
  void GroupIsDeleted(JobEntry& entry, const std::string& group_uid, podgroup::v1::DeletePodGroupResponse answer);
  // The entry if that very call is under way; it is over now.
  JobEntry* EndGroupCall(const std::string& key, const std::string& uid, uint64_t call);

  // -- act_events.cc: Events --
  void RecordEvents(JobEntry& entry);
  // Their series, from the record and into it.
  static void LoadEvents(JobEntry& entry);
  static void StoreEvents(JobEntry& entry);

  // -- act_objects.cc, act_claims.cc: objects of plugins, claims --
  bool ObjectsReady(const JobEntry& entry) const;
  void ObjectIsThere(JobEntry& entry, std::string_view reason, std::string_view subject);
  void ActOnObjects(JobEntry& entry);
  void EnsureObject(JobEntry& entry, const WantedObject& object);
  void MakeObject(JobEntry& entry, const WantedObject& object);
  void CreateObject(JobEntry& entry, const WantedObject& object, std::string json);
  // `after_create`: a create was refused because the name is taken.
  void CompareObject(JobEntry& entry, const WantedObject& object, bool after_create);
  void PatchObject(JobEntry& entry, const WantedObject& object, const std::string& object_uid,
                   int64_t resource_version);
  void ObjectRefused(JobEntry& entry, const runtime::WriteOutcome& outcome, Problem problem);
  void EnsureClaim(JobEntry& entry, const WantedClaim& claim);
  void LookForClaim(JobEntry& entry, const WantedClaim& claim);
  void ClaimIsThere(JobEntry& entry, const std::string& claim);
  void AwaitClaim(JobEntry& entry, const WantedClaim& claim);
  void StopAwaiting(JobEntry& entry);
  // A claim is there, or has changed.
  void NoteClaim(const kube::v1::ObjectMeta& meta);
  void ObjectIsGone(JobEntry& entry, const std::string& object_key);
  void FindAndDeleteObject(JobEntry& entry, const std::string& object_key);
  void DeleteObject(JobEntry& entry, const std::string& object_key, const std::string& uid);

  // -- damaged_records.cc: what cannot be read of the store --
  // Of `incomplete` jobs, and of watching clients, the slot begins as on an empty disk.
  absl::Status BeginAnew(uint32_t slot, const std::set<std::string>& incomplete, const kv::Damage& damage);
  void DropDamaged(const kv::Damage& damage);

  // The entry if it still is about the job of that UID.
  JobEntry* Live(const std::string& key, const std::string& uid);
  void HoldPod(JobEntry& entry, const std::string& pod, absl::Duration hold);

  // False once the controller is destroyed: timers and key pairs may come later.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  runtime::Context& context_;
  KeyMaker& keys_;
  JobMetrics& metrics_;
  const JobControllerOptions options_;
  SlotMap<JobEntry> entries_;
  std::map<uint32_t, watch::RevisionLog> watches_;  // Of the open slots.
  std::vector<ShownChange> changes_;                // In the batch of this round: told once it is durable.
  std::map<std::string, int32_t, std::less<>> priorities_;
  ClusterQueues queues_;
  ClaimWaits claim_waits_;
  uint64_t last_group_call_ = 0;
  runtime::EventRecorder recorder_;
  HistoryStore history_;
  storage::v1::PodRecord pod_record_;  // StorePod's: it keeps its memory from one pod to the next.
  Listener listener_;
  // Keys of jobs of which pods are being deleted in one call: by name, so that nothing is made under one, whichever job
  // has the key by now.
  std::set<std::string, std::less<>> collecting_;
  TimerId history_timer_ = kNoTimer;
};

}  // namespace basalt::jobsvc
