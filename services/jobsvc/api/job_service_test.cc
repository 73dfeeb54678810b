// A watch over a real socket; the loop of the handlers goes on step by step.
#include "services/jobsvc/api/job_service.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <deque>
#include <thread>

#include "basalt/job/v1/job.grpc.pb.h"
#include "common/base/mutex.h"
#include "common/rpc/grpc_server.h"
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

TEST(JobServiceTest, NothingRefersToTheApiOnceTheServerHasDrainedItsWatches) {
  SteppedLoop loop;
  SilentWorkers workers;
  WatchHub hub("incarnation");
  JobApi api(workers, hub);
  const auto is_watched = [&hub] {
    bool wanted = false;
    hub.Publish("ns/job", [&wanted] {
      wanted = true;
      return job::v1::Job();
    });
    return wanted;
  };
  std::vector<std::unique_ptr<rpc::GrpcService>> services;
  services.push_back(MakeJobService(loop, api));
  auto server = rpc::GrpcServer::Start({}, std::move(services));
  ASSERT_THAT(server, testing::IsOk());

  const auto stub = job::v1::JobService::NewStub(
      grpc::CreateChannel(fmt::format("127.0.0.1:{}", (*server)->port()), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const std::unique_ptr<grpc::ClientReader<job::v1::WatchJobsResponse>> reader = stub->WatchJobs(&context, {});
  loop.Step();  // Starts the watch.
  EXPECT_TRUE(is_watched());
  loop.Step();  // Writes what was published.
  loop.Step();  // It is written.
  job::v1::WatchJobsResponse response;
  EXPECT_TRUE(reader->Read(&response));

  std::thread drain([&] { (*server)->Drain(absl::ZeroDuration()); });
  loop.Step();  // Cancelled by the server.
  drain.join();
  EXPECT_FALSE(is_watched());
  loop.Step();  // gRPC is done with it.
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_FALSE(reader->Finish().ok());
}

}  // namespace
}  // namespace basalt::jobsvc
