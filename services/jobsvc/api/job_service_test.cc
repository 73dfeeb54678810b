// Watches and submissions over a real socket. The loop of the handlers runs step by step.
#include "services/jobsvc/api/job_service.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <deque>
#include <future>
#include <thread>

#include "basalt/job/v1/job.grpc.pb.h"
#include "common/base/mutex.h"
#include "common/base/slots.h"
#include "common/rpc/grpc/construction_fence.h"
#include "common/rpc/grpc/server.h"
#include "common/rpc/watch/testing.h"
#include "common/testing/status_matchers.h"

namespace basalt::jobsvc {
namespace {

// Runs a task only in Step(), on the thread that calls it.
class SteppedLoop final : public Loop {
 public:
  absl::Time Now() const override { return absl::UnixEpoch(); }
  TimerId RunAt(absl::Time, Task task) override {
    if (timers_are_due) Post(std::move(task));
    return kNoTimer;
  }
  void Cancel(TimerId) override {}
  bool IsCurrent() const override { return true; }
  void Post(Task task) override {
    MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.NotifyAll();
  }
  // Waits for the next task, and runs it.
  void Step() {
    Task task;
    {
      MutexLock lock(mutex_);
      while (tasks_.empty()) changed_.Wait(mutex_);
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }

  bool timers_are_due = false;  // Timers are due at once, or else never.

 private:
  Mutex mutex_;
  CondVar changed_;
  std::deque<Task> tasks_ BASALT_GUARDED_BY(mutex_);
};

// No worker answers: a watch waits for its snapshot.
struct SilentWorkers final : Workers {
  size_t count() const override { return 1; }
  void OnWorkerOf(uint32_t, Task) override {}
  void OnWorker(size_t, Task) override {}
};

// A server of job services, and a client of it.
struct Served {
  Served(SteppedLoop& loop, std::unique_ptr<Workers> workers, std::unique_ptr<rpc::Members> members,
         std::shared_ptr<watch::WatchHub> hub = std::make_shared<watch::WatchHub>()) {
    auto started = rpc::GrpcServer::Start(
        {}, MakeJobServices(loop, std::make_shared<rpc::InflightLimiter>(),
                            {.workers = std::move(workers), .members = std::move(members), .hub = std::move(hub)}));
    EXPECT_THAT(started, testing::IsOk());
    server = *std::move(started);
    for (int service = 0; service < 2; ++service) loop.Step();
    stub = job::v1::JobService::NewStub(
        grpc::CreateChannel(fmt::format("127.0.0.1:{}", server->port()), grpc::InsecureChannelCredentials()));
  }
  std::unique_ptr<rpc::GrpcServer> server;
  std::unique_ptr<job::v1::JobService::Stub> stub;
};

job::v1::SubmitJobRequest Submission(const std::string& ns, const std::string& members_of_pod = "") {
  job::v1::SubmitJobRequest request;
  request.set_namespace_(ns);
  request.set_manifest_json(
      R"({"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":"j"},"spec":{"tasks":[)"
      R"({"name":"t","replicas":2,"template":{"spec":{)" +
      members_of_pod + R"("containers":[{"name":"c","image":"i"}]}}}]}})");
  return request;
}

TEST(JobServiceTest, NothingRefersToTheApiOnceTheServerHasDrainedItsWatches) {
  SteppedLoop loop;
  const auto hub = std::make_shared<watch::WatchHub>();
  const Served served(loop, std::make_unique<SilentWorkers>(), std::make_unique<rpc::testing::OneMember>(""), hub);
  grpc::ClientContext context;
  const std::unique_ptr<grpc::ClientReader<job::v1::WatchJobsResponse>> reader = served.stub->WatchJobs(&context, {});
  EXPECT_EQ(hub->watches(), 0u);
  loop.Step();  // Starts the watch.
  EXPECT_EQ(hub->watches(), 1u);

  std::thread drain([&] { served.server->Drain(absl::ZeroDuration()); });
  loop.Step();  // The server cancels the watch.
  drain.join();
  EXPECT_EQ(hub->watches(), 0u);
  loop.Step();  // gRPC is done with the watch.
  job::v1::WatchJobsResponse response;
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_FALSE(reader->Finish().ok());
}

struct AskedWorkers final : Workers {
  size_t count() const override { return 1; }
  void OnWorkerOf(uint32_t slot, Task) override { slots.push_back(slot); }
  void OnWorker(size_t, Task) override {}
  std::vector<uint32_t> slots;
};

// This replica is "a". Everything runs on the thread that calls Step().
struct ChangingMembers final : rpc::Members {
  static gateway::v1::Member Named(const std::string& replica) {
    gateway::v1::Member member;
    member.set_replica(replica);
    member.set_address("unix:/there-is-none");
    return member;
  }
  gateway::v1::Member self() const override { return Named("a"); }
  std::vector<gateway::v1::Member> all() const override { return {Named(owner)}; }
  std::string owner;
};

TEST(JobServiceTest, ASubmissionIsAnsweredHereAlsoWhereTheJobWasAnothersFirst) {
  for (const std::string first : {"a", "b"}) {
    SteppedLoop loop;
    loop.timers_are_due = true;
    auto own_workers = std::make_unique<AskedWorkers>();
    AskedWorkers& workers = *own_workers;
    auto own_members = std::make_unique<ChangingMembers>();
    ChangingMembers& members = *own_members;
    members.owner = first;
    const Served served(loop, std::move(own_workers), std::move(own_members));
    grpc::ClientContext context;
    const job::v1::SubmitJobRequest request = Submission("default");
    job::v1::Job job;
    std::promise<grpc::Status> answer;
    rpc::ConstructionFence prepared;
    prepared.Release();
    served.stub->async()->SubmitJob(&context, &request, &job, [&](const grpc::Status& status) {
      prepared.Acquire();
      answer.set_value(status);
    });
    loop.Step();  // The call is answered here, or forwarded to the other replica.
    EXPECT_EQ(workers.slots.size(), first == "a" ? 1u : 0u);
    members.owner = "a";
    while (workers.slots.empty()) loop.Step();
    EXPECT_EQ(workers.slots, std::vector<uint32_t>{SlotOf("default/j")});
    // The worker has dropped the task.
    EXPECT_EQ(answer.get_future().get().error_code(), grpc::StatusCode::UNKNOWN);
    served.server->Drain(absl::ZeroDuration());
  }
}

TEST(JobServiceTest, ASubmissionIntoANamespaceThatIsNotServedIsRefusedByItsField) {
  SteppedLoop loop;
  loop.timers_are_due = true;
  const Served served(loop, std::make_unique<SilentWorkers>(), std::make_unique<ChangingMembers>());
  grpc::ClientContext context;
  const job::v1::SubmitJobRequest request = Submission("kube-system", R"("hostPID":true,)");
  job::v1::Job job;
  // The manifest is read, and refused, beside the loop.
  const grpc::Status status = served.stub->SubmitJob(&context, request, &job);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(),
            "metadata.namespace: namespace 'kube-system' is served only where --namespaces names it");
  served.server->Drain(absl::ZeroDuration());
}

}  // namespace
}  // namespace basalt::jobsvc
