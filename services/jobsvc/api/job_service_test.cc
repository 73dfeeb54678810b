// A watch over a real socket; the loop of the handlers goes on step by step.
#include "services/jobsvc/api/job_service.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <deque>
#include <thread>

#include "basalt/job/v1/job.grpc.pb.h"
#include "common/base/mutex.h"
#include "common/rpc/grpc/server.h"
#include "common/testing/status_matchers.h"

namespace basalt::jobsvc {
namespace {

// Runs a task only when it is told to, on the thread that tells it.
class SteppedLoop final : public Loop {
 public:
  absl::Time Now() const override { return absl::UnixEpoch(); }
  TimerId RunAt(absl::Time, Task) override { return kNoTimer; }
  void Cancel(TimerId) override {}
  bool IsCurrent() const override { return true; }
  void Post(Task task) override {
    MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.NotifyAll();
  }
  // Runs the next task, once it has come.
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

struct OneMember final : rpc::Members {
  gateway::v1::Member self() const override { return {}; }
  std::vector<gateway::v1::Member> all() const override { return {{}}; }
};

TEST(JobServiceTest, NothingRefersToTheApiOnceTheServerHasDrainedItsWatches) {
  SteppedLoop loop;
  const auto hub = std::make_shared<watch::WatchHub>();
  auto server = rpc::GrpcServer::Start({}, MakeJobServices(loop, {.workers = std::make_unique<SilentWorkers>(),
                                                                  .members = std::make_unique<OneMember>(),
                                                                  .hub = hub}));
  ASSERT_THAT(server, testing::IsOk());
  for (int service = 0; service < 2; ++service) loop.Step();

  const auto stub = job::v1::JobService::NewStub(
      grpc::CreateChannel(fmt::format("127.0.0.1:{}", (*server)->port()), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const std::unique_ptr<grpc::ClientReader<job::v1::WatchJobsResponse>> reader = stub->WatchJobs(&context, {});
  EXPECT_EQ(hub->watches(), 0u);
  loop.Step();  // Starts the watch.
  EXPECT_EQ(hub->watches(), 1u);

  std::thread drain([&] { (*server)->Drain(absl::ZeroDuration()); });
  loop.Step();  // Cancelled by the server.
  drain.join();
  EXPECT_EQ(hub->watches(), 0u);
  loop.Step();  // gRPC is done with it.
  job::v1::WatchJobsResponse response;
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_FALSE(reader->Finish().ok());
}

}  // namespace
}  // namespace basalt::jobsvc
