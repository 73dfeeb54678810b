// jobsvc_bench measures the cost of a pod event in jobsvc alone. Batches in their wire form are parsed, go through the
// runtime and the controller and are recorded in RocksDB (WAL unsynced), all in one thread under simulated time that
// stands still. Every run does the same work, so that the work can be counted (valgrind --tool=callgrind
// --toggle-collect='*RunLap*') as well as timed.
//   jobsvc_bench [--jobs=1000] [--pods=10] [--tasks=1] [--waiting=0] [--laps=3] [--phases] [--timeout_policy]
// With --batch=1 --at_once=1 each event is a pass, a batch to record and an acknowledgement of its own. With
// --timeout_policy pods fail, which sets a deadline for each of them, and other pods then run in their place, which
// cancels the deadlines.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "common/base/slots.h"
#include "common/exec/sim_loop.h"
#include "common/kube/names.h"
#include "common/obs/log.h"
#include "common/runtime/replica.h"
#include "common/testing/temp_dir.h"
#include "services/jobsvc/control/job_controller.h"

ABSL_FLAG(int, jobs, 1000, "jobs");
ABSL_FLAG(int, pods, 10, "pods of a job");
ABSL_FLAG(int, tasks, 1, "tasks of a job, which share its pods evenly");
ABSL_FLAG(int, waiting, 0, "tasks more, of one pod each, that wait for yet another, which is not up");
ABSL_FLAG(int, laps, 3, "laps over all pods; the median is told");
ABSL_FLAG(int, batch, 64, "events in a batch of the stream");
ABSL_FLAG(int, at_once, 4, "batches on their way: the gateway does not wait for the answer to one before the next");
ABSL_FLAG(bool, phases, false, "events tell of phases, which statuses count, not only of readiness");
ABSL_FLAG(bool, timeout_policy, false, "a policy answers PodFailed after a day, and events tell of failures");

namespace basalt::bench {
namespace {

using gateway::v1::AttachBatch;

constexpr char kNamespace[] = "ml-team";

class Peer final : public rpc::GatewayPeer, public rpc::PeerDirectory {
 public:
  std::unique_ptr<rpc::AttachStream> Attach(rpc::AttachObserver& observer) override {
    observer_ = &observer;
    return std::make_unique<Stream>(*this);
  }
  void Write(gateway::v1::WriteRequest request, absl::Duration, rpc::Done<gateway::v1::WriteResponse>) override {
    if (request.resource().plural() == "events") return;  // A deadline makes one Event for each job.
    if (writes_++ == 0) fmt::print(stderr, "unexpected write: {}\n", request.ShortDebugString());
  }
  void Get(gateway::v1::GetRequest, absl::Duration, rpc::Done<gateway::v1::GetResponse>) override { ++writes_; }
  std::shared_ptr<rpc::ServicePeer> Services(const gateway::v1::Member&) override { return nullptr; }
  std::shared_ptr<rpc::ReplicaPeer> Replicas(const gateway::v1::Member&) override { return nullptr; }

  gateway::v1::Item& Add() {
    if (batch_.sequence() == 0) {
      batch_.set_sequence(++sequence_);
      if (sequence_ == 1) batch_.add_items()->mutable_session_start()->set_token("for measurements only");
      batch_.set_api_time_ms(1'750'000'000'000);
    }
    return *batch_.add_items();
  }
  int items() const { return batch_.items_size(); }
  // Returns the gathered items in their wire form and clears them.
  std::string Take() {
    std::string bytes = batch_.SerializeAsString();
    batch_.Clear();
    return bytes;
  }
  void Deliver(const std::string& bytes) {
    AttachBatch batch;
    static_cast<void>(batch.ParseFromString(bytes));  // Cannot fail: Take has written the bytes.
    observer_->OnBatch(std::move(batch));
  }
  int64_t sent() const { return sequence_; }
  int64_t acknowledged() const { return acknowledged_; }
  int writes() const { return writes_; }

 private:
  struct Stream final : rpc::AttachStream {
    explicit Stream(Peer& peer) : peer_(peer) {}
    void Send(gateway::v1::AttachRequest request) override {
      if (request.has_ack()) peer_.acknowledged_ = request.ack().sequence();
    }
    Peer& peer_;
  };
  rpc::AttachObserver* observer_ = nullptr;
  AttachBatch batch_;
  int64_t sequence_ = 0;
  int64_t acknowledged_ = 0;
  int writes_ = 0;
};

struct NoKeys final : jobsvc::KeyMaker {
  void MakeKeys(std::string, std::function<void(absl::StatusOr<jobsvc::SshKeyPair>)>) override {}
};

class Bench {
 public:
  Bench(int jobs, int pods, int tasks, int waiting, bool phases, bool deadlines)
      : jobs_(jobs),
        pods_(pods),
        tasks_(tasks),
        waiting_(waiting),
        phases_(phases || deadlines),
        deadlines_(deadlines),
        loop_(time_, "jobsvc"),
        random_(1),
        store_(*kv::OpenRocksKv({.data_dir = dir_.path(), .service = "jobsvc", .replica = "jobsvc-0"})) {
    runtime::RuntimeOptions options;
    options.service = gateway::v1::SERVICE_KIND_JOB;
    options.replica = "jobsvc-0";
    options.name_secret = "for measurements only";
    options.on_failure = [](const absl::Status& why) { fmt::print(stderr, "failed: {}\n", why.ToString()); };
    replica_ = std::make_unique<runtime::Replica>(options, loop_, std::vector<Loop*>{&loop_}, random_, *store_, peer_,
                                                  peer_, nullptr, nullptr, [this](runtime::Context& context) {
                                                    auto made = std::make_unique<jobsvc::JobController>(context, keys_,
                                                                                                        metrics_);
                                                    controller_ = made.get();
                                                    return made;
                                                  });
    replica_->Start();
    time_.RunDueTasks();
  }

  void Fill() {
    gateway::v1::Assignment& assignment = *peer_.Add().mutable_assignment();
    assignment.set_epoch(1);
    *assignment.add_members() = replica_->self();
    for (uint32_t slot = 0; slot < kSlotCount; ++slot) peer_.Add().mutable_begin()->set_slot(slot);
    for (int job = 0; job < jobs_; ++job) AddJob(job);
    for (uint32_t slot = 0; slot < kSlotCount; ++slot) {
      auto& end = *peer_.Add().mutable_end();
      end.set_slot(slot);
      for (const std::string_view watch : {kube::kWatchJobs, kube::kWatchPodGroups, kube::kWatchJobPods}) {
        auto& mark = *end.add_marks();
        mark.set_watch(std::string(watch));
        mark.set_state(gateway::v1::Mark::STATE_READY);
        mark.set_resource_version(version_);
      }
    }
    peer_.Deliver(peer_.Take());
    time_.RunDueTasks();
  }

  // Returns the batches of one lap: one event for each pod. Events that follow each other belong to different jobs.
  std::vector<std::string> MakeLap(bool up, int batch) {
    const int total = jobs_ * pods_;
    if (deadlines_ && up) ++incarnation_;
    int stride = std::max(1, static_cast<int>(total * 0.618));
    while (std::gcd(stride, total) != 1) ++stride;
    std::vector<std::string> batches;
    for (int i = 0; i < total; ++i) {
      const int pod = static_cast<int>(static_cast<int64_t>(i) * stride % total);
      AddPod(pod, IsRunning(pod % pods_, up), up);
      if (peer_.items() == batch || i + 1 == total) batches.push_back(peer_.Take());
    }
    return batches;
  }

  [[gnu::noinline]] void RunLap(const std::vector<std::string>& batches, int at_once) {
    int on_their_way = 0;
    for (const std::string& batch : batches) {
      peer_.Deliver(batch);
      if (++on_their_way % at_once == 0) time_.RunDueTasks();
    }
    time_.RunDueTasks();
  }

  // Whether every event is recorded and counted, and nothing was requested of the API server.
  bool Agrees(bool up) const {
    if (peer_.acknowledged() != peer_.sent() || peer_.writes() != 0) return false;
    return std::all_of(controller_->entries().begin(), controller_->entries().end(), [&](const auto& entry) {
      const auto& counts = entry.second->pods.counts();
      return counts.running() == (IsRunning(pods_ - 1, up) ? pods_ : 1) &&
             counts.running() + counts.pending() + counts.failed() == pods_ + (waiting_ > 0 ? 1 : 0) &&
             entry.second->deadlines.size() == (deadlines_ && !up ? static_cast<size_t>(pods_ - 1) : 0);
    });
  }

 private:
  // The first pod of a job always runs. The job needs only one, so its phase stays.
  bool IsRunning(int index, bool up) const { return up || !phases_ || index == 0; }
  static std::string JobName(int job) { return fmt::format("train-{:05}", job); }
  // Returns a name that sorts as its number does.
  static std::string TaskName(int task) { return fmt::format("worker-{:04}", task); }
  // The pods of a task are neighbours.
  int FirstOf(int task) const { return static_cast<int>(int64_t{task} * pods_ / tasks_); }
  int PodsOf(int task) const { return FirstOf(task + 1) - FirstOf(task); }
  static std::string JobUid(int job) { return fmt::format("0d7c1a52-8f1b-4f0e-a3a5-{:012x}", job); }

  gateway::v1::ObjectState& AddState(int job, std::string_view watch) {
    gateway::v1::ObjectState& state = *peer_.Add().mutable_state();
    state.set_routing_key(fmt::format("{}/{}", kNamespace, JobName(job)));
    state.set_slot(SlotOf(state.routing_key()));
    state.set_watch(std::string(watch));
    return state;
  }

  static kube::v1::TaskSpec& AddTask(const std::string& name, int replicas, kube::v1::Job& job) {
    kube::v1::TaskSpec& task = *job.mutable_spec()->add_tasks();
    task.set_name(name);
    task.set_replicas(replicas);
    task.set_min_available(1);
    task.set_template_json(
        R"({"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"registry.example.com/ml/train:1",)"
        R"("resources":{"requests":{"cpu":"8","memory":"64Gi"}}}]}})");
    return task;
  }

  void AddJob(int number) {
    kube::v1::Job& job = *AddState(number, kube::kWatchJobs).mutable_object()->mutable_job();
    job.mutable_meta()->set_namespace_(kNamespace);
    job.mutable_meta()->set_name(JobName(number));
    job.mutable_meta()->set_uid(JobUid(number));
    job.mutable_meta()->set_resource_version(++version_);
    job.mutable_meta()->set_generation(1);
    job.mutable_meta()->set_creation_ms(1'749'000'000'000);
    job.mutable_spec()->set_scheduler_name("volcano");
    job.mutable_spec()->set_queue("research");
    job.mutable_spec()->set_min_available(1);
    job.mutable_spec()->set_max_retry(3);
    for (int task = 0; task < tasks_; ++task) AddTask(TaskName(task), PodsOf(task), job);
    if (waiting_ > 0) AddTask("gate", 1, job);
    for (int task = 0; task < waiting_; ++task) {
      AddTask(fmt::format("waiting-{}", task), 1, job).mutable_depends_on()->add_names("gate");
    }
    if (deadlines_) {
      auto& policy = *job.mutable_spec()->add_policies();
      policy.add_events("PodFailed");
      policy.set_action("RestartJob");
      policy.set_timeout_ms(absl::ToInt64Milliseconds(absl::Hours(24)));
    }
    job.mutable_status()->set_phase(kube::v1::JOB_PHASE_RUNNING);
    job.mutable_status()->set_last_transition_ms(1'749'000'004'000);
    job.mutable_status()->set_min_available(1);
    job.mutable_status()->mutable_counts()->set_running(pods_);
    if (waiting_ > 0) {
      job.mutable_status()->mutable_counts()->set_pending(1);
      auto& counts = *job.mutable_status()->add_task_status_count();
      counts.set_task("gate");
      counts.mutable_counts()->set_pending(1);
    }
    for (int task = 0; task < tasks_; ++task) {
      auto& counts = *job.mutable_status()->add_task_status_count();
      counts.set_task(TaskName(task));
      counts.mutable_counts()->set_running(PodsOf(task));
    }
    for (const auto phase : {kube::v1::JOB_PHASE_PENDING, kube::v1::JOB_PHASE_RUNNING}) {
      auto& condition = *job.mutable_status()->add_conditions();
      condition.set_phase(phase);
      condition.set_last_transition_ms(1'749'000'004'000);
    }
    const jobsvc::CompiledSpec compiled = jobsvc::CompileSpec(job, [](std::string_view) { return 0; });

    kube::v1::PodGroup& group = *AddState(number, kube::kWatchPodGroups).mutable_object()->mutable_pod_group();
    group.mutable_meta()->set_namespace_(kNamespace);
    group.mutable_meta()->set_name(fmt::format("{}-{}", JobName(number), JobUid(number)));
    group.mutable_meta()->set_uid(fmt::format("9a7c1a52-8f1b-4f0e-a3a5-{:012x}", number));
    group.mutable_meta()->set_resource_version(++version_);
    auto& owner = *group.mutable_meta()->add_owner_references();
    owner.set_api_version(std::string(kube::kJobApiVersion));
    owner.set_kind("Job");
    owner.set_name(JobName(number));
    owner.set_uid(JobUid(number));
    owner.set_controller(true);
    for (const auto& [key, value] : {std::pair{std::string(kube::kBasaltVersionKey), std::string("0")}}) {
      auto& annotation = *group.mutable_meta()->add_annotations();
      annotation.set_key(key);
      annotation.set_value(value);
    }
    *group.mutable_spec() = compiled.group;
    group.set_phase("Running");

    for (int pod = 0; pod < pods_; ++pod) AddPod(number * pods_ + pod, true, true);
    if (waiting_ > 0) AddPod(number, jobs_ * pods_ + number, "gate", 0, false, false);
  }

  void AddPod(int number, bool running, bool ready) {
    const int of_job = number % pods_;
    const int task = static_cast<int>((int64_t{of_job + 1} * tasks_ - 1) / pods_);
    AddPod(number / pods_, number, TaskName(task), of_job - FirstOf(task), running, ready);
  }

  void AddPod(int job, int number, const std::string& task, int index, bool running, bool ready) {
    kube::v1::Pod& pod = *AddState(job, kube::kWatchJobPods).mutable_object()->mutable_pod();
    pod.set_namespace_(kNamespace);
    pod.set_name(fmt::format("{}-{}-{}", JobName(job), task, index));
    pod.set_uid(fmt::format("5f0c8c1e-52a6-4c36-{:04x}-{:012x}", 0x9ad1 + incarnation_, number));
    pod.set_resource_version(++version_);
    pod.set_creation_ms(1'749'000'001'000);
    pod.set_phase(running      ? kube::v1::POD_PHASE_RUNNING
                  : deadlines_ ? kube::v1::POD_PHASE_FAILED
                               : kube::v1::POD_PHASE_PENDING);
    pod.set_owner_uid(JobUid(job));
    pod.set_owner_kind("Job");
    pod.set_owner_api_version(std::string(kube::kJobApiVersion));
    pod.set_scheduler_name("volcano");
    pod.set_node_name(fmt::format("node-{:04}", number % 5000));
    pod.set_group_name(fmt::format("{}-{}", JobName(job), JobUid(job)));
    pod.set_job_name(JobName(job));
    pod.set_task(task);
    pod.set_job_version(0);
    pod.set_index(index);
    pod.set_all_ready(ready);
    pod.set_job_uid_label(JobUid(job));
  }

  const int jobs_;
  const int pods_;
  const int tasks_;
  const int waiting_;
  const bool phases_;
  const bool deadlines_;
  int incarnation_ = 0;  // The pods get new UIDs with each incarnation.
  const testing::TempDir dir_;
  SimTime time_;
  SimLoop loop_;
  SeededRandom random_;
  const std::unique_ptr<kv::KvStore> store_;
  Peer peer_;
  NoKeys keys_;
  const std::unique_ptr<obs::Metrics> prometheus_ = obs::MakeMetrics();
  jobsvc::JobMetrics metrics_{*prometheus_, /*series_per_job=*/false};
  jobsvc::JobController* controller_ = nullptr;  // Owned by `replica_`.
  std::unique_ptr<runtime::Replica> replica_;
  int64_t version_ = 1000;
};

// Returns the CPU time of this thread. RocksDB's background threads do not count.
double ThreadMicros() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

int Measure() {
  const int jobs = absl::GetFlag(FLAGS_jobs);
  const int pods = absl::GetFlag(FLAGS_pods);
  const int tasks = absl::GetFlag(FLAGS_tasks);
  const int waiting = absl::GetFlag(FLAGS_waiting);
  if (jobs < 1 || tasks < 1 || pods < tasks || waiting < 0) {
    fmt::print(stderr, "at least one job, one task and a pod for each task\n");
    return 1;
  }
  Bench bench(jobs, pods, tasks, waiting, absl::GetFlag(FLAGS_phases), absl::GetFlag(FLAGS_timeout_policy));
  bench.Fill();
  bool up = true;
  std::vector<double> costs;
  for (int lap = 0; lap < absl::GetFlag(FLAGS_laps); ++lap) {
    up = !up;
    const std::vector<std::string> batches = bench.MakeLap(up, absl::GetFlag(FLAGS_batch));
    const double begin = ThreadMicros();
    bench.RunLap(batches, absl::GetFlag(FLAGS_at_once));
    costs.push_back((ThreadMicros() - begin) / (jobs * pods));
  }
  std::sort(costs.begin(), costs.end());
  fmt::print("{} jobs of {} pods in {} tasks: {:.2f} us of CPU per event (from {:.2f} to {:.2f})\n", jobs, pods,
             tasks + waiting, costs[costs.size() / 2], costs.front(), costs.back());
  if (bench.Agrees(up)) return 0;
  fmt::print(stderr, "what was recorded does not agree with what was told\n");
  return 1;
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("jobsvc_bench: what an event of a pod costs jobsvc alone.");
  absl::ParseCommandLine(argc, argv);
  basalt::obs::SetUpLogging("jobsvc_bench", basalt::obs::Level::kError);
  return basalt::bench::Measure();
}
