#pragma once

// The job controller in the rig of common/testing/controller_rig, which documents how it runs and what may break. Also
// contains jobs to begin with.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/testing/controller_rig/controller_rig.h"
#include "services/jobsvc/control/job_controller.h"
#include "services/jobsvc/testing/rig/job_kube.h"

namespace basalt::jobsvc::testing {

using basalt::testing::Fate;

class JobRig : public basalt::testing::ControllerRig {
 public:
  JobRig();
  ~JobRig() override;

  JobKube& kube() { return kube_; }
  const JobKube& kube() const { return kube_; }
  // Starts a process with that job, and runs it until the pods are made.
  void Begin(kube::v1::Job job);
  // The same, then lets the pods run for some time. After 20 seconds, the status reports that.
  void StartRunning(kube::v1::Job job, absl::Duration time = absl::Seconds(20));
  // Kills the process, and starts the next one.
  void StartAgain(bool lose_disk = false);
  JobController& controller() { return static_cast<JobController&>(any_controller()); }
  kube::v1::JobPhase PhaseOf(const std::string& key) const;
  std::vector<storage::v1::HistoryRecord> History(const std::string& key);
  // Bytes of all records of jobs that were written, without those of pods.
  size_t job_records_written() const { return job_records_written_; }
  int ssh_keys_made() const { return ssh_keys_made_; }

  const std::unique_ptr<obs::Metrics> prometheus = obs::MakeMetrics();
  JobMetrics metrics{*prometheus, /*series_per_job=*/false};  // Metrics of all processes.
  JobControllerOptions options;                               // Options of the next process.
  // Shows the process a priority class. The next process gets it as the server has it.
  void ShowPriorityClass(const std::string& name, int32_t value, bool gone = false);
  // Called with each controller before its first slot.
  std::function<void(JobController&)> on_start;

 private:
  std::unique_ptr<runtime::Controller> MakeController(runtime::Context& context);

  JobKube kube_;
  std::vector<std::unique_ptr<KeyMaker>> keys_;  // One for each process.
  size_t job_records_written_ = 0;
  int ssh_keys_made_ = 0;
};

inline constexpr auto kAborted = kube::v1::JOB_PHASE_ABORTED;
inline constexpr auto kCompleted = kube::v1::JOB_PHASE_COMPLETED;
inline constexpr auto kFailed = kube::v1::JOB_PHASE_FAILED;
inline constexpr auto kPending = kube::v1::JOB_PHASE_PENDING;
inline constexpr auto kPodFailed = kube::v1::POD_PHASE_FAILED;
inline constexpr auto kPodRunning = kube::v1::POD_PHASE_RUNNING;
inline constexpr auto kPodSucceeded = kube::v1::POD_PHASE_SUCCEEDED;
inline constexpr auto kRestarting = kube::v1::JOB_PHASE_RESTARTING;
inline constexpr auto kRunning = kube::v1::JOB_PHASE_RUNNING;

// Returns a job of `tasks` × `replicas` with the defaults of a user who writes little.
kube::v1::Job MakeJob(const std::string& name, int tasks, int replicas);
// Returns the job with one more policy, for the events of all its pods.
kube::v1::Job WithPolicy(kube::v1::Job job, const std::string& event, const std::string& action,
                         absl::Duration timeout = absl::ZeroDuration());
// Writes the next commit of the job as a process that is gone: the job's record here proves stale. `state` is the part
// of the status that is written with it. Returns false if the write is refused or the job is not ours yet.
bool CommitLate(JobKube& kube, const std::string& key, std::string_view state = "{}");

}  // namespace basalt::jobsvc::testing
