#pragma once

// One job controller over a FakeKube under simulated time: rounds as the runtime runs them, writes with a delay each
// way, faults, and the end of the process at any chosen point. Everything in one thread.
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/exec/sim_loop.h"
#include "common/kv/kv_store.h"
#include "common/runtime/controller.h"
#include "services/jobsvc/control/job_controller.h"
#include "services/jobsvc/testing/fake_kube.h"

namespace basalt::jobsvc::testing {

enum class Fate { kNormal, kNotSent, kLostRequest, kLostAnswer };

class JobRig {
 public:
  JobRig();
  ~JobRig();

  SimTime& time() { return time_; }
  FakeKube& kube() { return kube_; }
  JobController& controller();
  kv::KvStore& store();
  bool alive() const { return process_ != nullptr; }

  // Starts a process over the disk that is there. Snapshot first, then live states.
  void Start();
  // kill -9: nothing of the process runs any more.
  void Kill();
  void LoseDisk() { disk_ = kv::MakeMemDisk(); }
  // What the disk holds now, and later that it holds no more than that, as after a loss of power.
  std::shared_ptr<kv::MemDisk> CopyDisk() const { return kv::CopyMemDisk(*disk_); }
  void LosePower(std::shared_ptr<kv::MemDisk> copy) { disk_ = std::move(copy); }
  // Kills the process at the n-th point from now (1 = the next): before and after each record, before and after each
  // request reaches the server. 0 = never.
  void KillAt(int point) { kill_at_ = point == 0 ? 0 : points_ + point; }
  int points() const { return points_; }
  void ClearPoints() { points_ = 0; }
  int rounds() const { return rounds_; }
  // Over each job, by its key; of all processes.
  const std::map<std::string, int>& passes() const { return passes_; }
  // Of all records of jobs that were written, those of their pods apart; in bytes.
  size_t job_records_written() const { return job_records_written_; }
  int ssh_keys_made() const { return ssh_keys_made_; }
  // What the process asks for at present: "persistentvolumeclaims default/data".
  std::set<std::string> Interests() const;

  const std::unique_ptr<obs::Metrics> prometheus = obs::MakeMetrics();
  JobMetrics metrics{*prometheus, /*series_per_job=*/false};  // Of all processes.

  JobControllerOptions options;  // Of the next start.

  // Sets the API server's clock, forward or back, and with it what the processes know of it.
  void SetApiClock(absl::Duration ahead);

  // Tells the process of a priority class, which the next does not know of.
  void ShowPriorityClass(const std::string& name, int32_t value, bool gone = false);

  // Given each controller before its first slot.
  std::function<void(JobController&)> on_start;
  // What the controller is told of every slot.
  bool ready = true;

  // UIDs of objects that the next snapshot leaves out, and nobody says yet whether they are gone.
  std::set<std::string> uncertain;
  // Last states of pods that are gone, which the next snapshot tells, as of a gateway that saw them go.
  std::vector<kube::v1::Object> ends;

  // What becomes of a write; asked for each one.
  std::function<Fate(const gateway::v1::WriteRequest&)> fate;
  // When nobody knows what became of a write, that is known after this: the runtime waits until the server must have
  // given up.
  absl::Duration unknown_after = absl::ZeroDuration();

  // Runs until nothing happens without time passing beyond `horizon`.
  void Run(absl::Duration horizon = absl::Seconds(1)) { time_.Advance(horizon); }
  template <typename Condition>
  bool RunUntil(Condition condition, absl::Duration limit = absl::Minutes(5)) {
    return time_.AdvanceUntil(condition, limit);
  }
  kube::v1::JobPhase PhaseOf(const std::string& key) const;

 private:
  class Context;
  struct Process;

  void Deliver(const std::string& watch, const kube::v1::Object& object, bool gone);
  // To the process, if it asks for it.
  void DeliverShared(const std::string& watch, const kube::v1::Object& object, bool gone);
  void PostRound();
  void Round();
  // True when the process has just died.
  bool Point();

  SimTime time_;
  SimLoop server_loop_;
  FakeKube kube_;
  std::shared_ptr<kv::MemDisk> disk_;
  std::unique_ptr<Process> process_;
  // What died may still be on the stack of the round that it died in.
  std::vector<std::unique_ptr<Process>> dead_;
  uint64_t seed_ = 1;
  int64_t epoch_ = 0;
  int kill_at_ = 0;
  int points_ = 0;
  int rounds_ = 0;
  std::map<std::string, int> passes_;
  size_t job_records_written_ = 0;
  int ssh_keys_made_ = 0;
  int in_flight_ = 0;  // Requests on their way to the server.
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

// A job of `tasks` × `replicas` with the defaults of a user who writes little.
kube::v1::Job MakeJob(const std::string& name, int tasks, int replicas);
// The same with one more policy, for what happens to any pod of it.
kube::v1::Job WithPolicy(kube::v1::Job job, const std::string& event, const std::string& action,
                         absl::Duration timeout = absl::ZeroDuration());
// The next commit of the job of that key, by a process that is no more: what is recorded here of it proves stale.
// `state`: what it says beside, a part of a status. False: it is refused, or the job is not ours yet.
bool CommitLate(FakeKube& kube, const std::string& key, std::string_view state = "{}");

}  // namespace basalt::jobsvc::testing
