#pragma once

// The side of the controller that the parts of its jobs may use. A part has the state of one concern of one job
// (job_parts.h); its functions are given the job and the host. Lives on the controller's loop.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/storage/v1/job_record.pb.h"
#include "common/history/retention.h"
#include "common/reconcile/effect.h"
#include "common/reconcile/slot_map.h"
#include "common/runtime/controller.h"
#include "services/jobsvc/control/cluster/cluster_queues.h"
#include "services/jobsvc/control/job_entry.h"
#include "services/jobsvc/control/job_metrics.h"
#include "services/jobsvc/control/objects/claim_waits.h"
#include "services/jobsvc/core/plugins/ssh/key_source.h"
#include "services/jobsvc/core/render/effective_spec.h"

namespace basalt::jobsvc {

// Makes key pairs away from the loop. `done` is called on the caller's loop.
class KeyMaker {
 public:
  virtual ~KeyMaker() = default;
  virtual void MakeKeys(std::string seed, std::function<void(absl::StatusOr<SshKeyPair>)> done) = 0;
};

struct JobControllerOptions {
  DefaultOptions defaults;
  size_t max_in_flight_per_job = 64;
  absl::Duration counts_delay = absl::Seconds(3);     // Time from the first difference to a write of counts alone.
  absl::Duration counts_interval = absl::Seconds(5);  // Least time from any status write to one of counts alone.
  absl::Duration event_interval = absl::Minutes(5);   // Least time between two writes of one Event.
  history::Limits history_limits;
  // True if a pod that fails while Kubernetes evicts it counts as failed, as in upstream, and as evicted only once it
  // is removed.
  bool upstream_evictions = false;
};

class PartHost {
  auto FindLater(const JobEntry& entry) const {
    return [this, key = entry.key, uid = entry.record.uid()] { return Live(key, uid); };
  }

 public:
  // `context`, `keys` and `metrics` outlive the host.
  PartHost(runtime::Context& context, KeyMaker& keys, JobMetrics& metrics, JobControllerOptions options);
  ~PartHost() { *alive_ = false; }
  PartHost(const PartHost&) = delete;
  PartHost& operator=(const PartHost&) = delete;

  runtime::Context& context() { return context_; }
  absl::Time Now() const { return context_.ApiNow(); }
  KeyMaker& keys() { return keys_; }
  JobMetrics& metrics() { return metrics_; }
  const JobControllerOptions& options() const { return options_; }
  SlotMap<JobEntry>& entries() { return entries_; }
  const SlotMap<JobEntry>& entries() const { return entries_; }
  ClusterQueues& queues() { return queues_; }
  const ClusterQueues& queues() const { return queues_; }
  ClaimWaits& claim_waits() { return claim_waits_; }
  // Keys of jobs whose pods are being deleted in one call. They are keys, not UIDs: no pod is created meanwhile,
  // whichever job has the key by now.
  std::set<std::string, std::less<>>& collecting() { return collecting_; }
  // Returns an empty record to fill in and write at once. The record keeps its memory from one pod to the next.
  storage::v1::PodRecord& ClearedPodRecord() {
    pod_record_.Clear();
    return pod_record_;
  }
  // Returns a number that distinguishes one call about a pod group from every other.
  uint64_t NextGroupCall() { return ++last_group_call_; }
  // False once the controller is destroyed: a key pair may be ready only after that.
  const std::shared_ptr<bool>& alive() const { return alive_; }

  // Returns the entry if it is still about the job of that UID, else null.
  JobEntry* Live(std::string_view key, std::string_view uid) const;
  // Sends the request. `done` gets the entry and the answer; it is dropped if the entry is not about the same job any
  // more.
  template <typename Done>
  void Write(const JobEntry& entry, gateway::v1::WriteRequest request, Done done) {
    context_.Write(entry.key, std::move(request), WhileThere(FindLater(entry), std::move(done)));
  }
  template <typename Done>
  void Get(const JobEntry& entry, gateway::v1::GetRequest request, Done done) {
    context_.Get(entry.key, std::move(request), WhileThere(FindLater(entry), std::move(done)));
  }
  void Wake(const JobEntry& entry) { context_.Wake(entry.key); }
  void WakeAt(const JobEntry& entry, absl::Time when) { context_.WakeAt(entry.key, when); }
  // Backs off one step, and wakes the job after it.
  void TryAgain(const JobEntry& entry, Retry& retry);
  // Returns true if the retry is not due yet. The job is then woken when the retry is due.
  bool Waits(const JobEntry& entry, const Retry& retry);

  // Messages that differ in `names` alone have one cause.
  void AddProblem(JobEntry& entry, Problem problem, std::initializer_list<std::string_view> names = {});
  // Adds the problem, and wakes the job.
  void ReportProblem(JobEntry& entry, Problem problem, std::initializer_list<std::string_view> names = {});
  void ReportProblem(JobEntry& entry, std::string_view reason, std::string message,
                     std::initializer_list<std::string_view> names = {});

  // Returns the input from which effects on the job's pods follow. `busy` holds the names under which nothing may be
  // written; it outlives the view.
  EffectInput ViewOf(const JobEntry& entry, const std::set<std::string>& busy) const;
  QueueView QueueOf(const JobEntry& entry) const;
  // True if the job's queue has other clusters.
  bool IsForwarded(const JobEntry& entry) const;

 private:
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  runtime::Context& context_;
  KeyMaker& keys_;
  JobMetrics& metrics_;
  const JobControllerOptions options_;
  SlotMap<JobEntry> entries_;
  ClusterQueues queues_;
  ClaimWaits claim_waits_;
  std::set<std::string, std::less<>> collecting_;
  uint64_t last_group_call_ = 0;
  storage::v1::PodRecord pod_record_;
};

}  // namespace basalt::jobsvc
