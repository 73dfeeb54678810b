#pragma once

// What JobService answers, without gRPC: handlers that run on the loops of the workers that own the keys, and the
// conversion of records into messages. Handlers may be called from any thread; `done` comes on a worker's loop.
#include <functional>
#include <memory>
#include <string>

#include "basalt/job/v1/job.pb.h"
#include "common/rpc/peers.h"
#include "services/jobsvc/api/watch_hub.h"
#include "services/jobsvc/control/job_controller.h"

namespace basalt::jobsvc {

// How handlers reach the workers. Implemented over runtime::Replica, and directly in tests. Thread-safe.
class Workers {
 public:
  using Task = std::function<void(JobController&)>;
  virtual ~Workers() = default;
  virtual size_t count() const = 0;
  // Runs the task on the loop of the worker that has the slot, or of that worker. Dropped when it has stopped.
  virtual void OnWorkerOf(uint32_t slot, Task task) = 0;
  virtual void OnWorker(size_t worker, Task task) = 0;
};

class JobApi {
 public:
  // Both outlive the API.
  JobApi(Workers& workers, WatchHub& hub) : workers_(workers), hub_(hub) {}

  void Submit(job::v1::SubmitJobRequest request, rpc::Done<job::v1::Job> done);
  void Get(job::v1::GetJobRequest request, rpc::Done<job::v1::Job> done);
  void List(job::v1::ListJobsRequest request, rpc::Done<job::v1::ListJobsResponse> done);
  void History(job::v1::GetJobHistoryRequest request, rpc::Done<job::v1::JobHistory> done);
  void Delete(job::v1::DeleteJobRequest request, rpc::Done<job::v1::DeleteJobResponse> done);
  // `notify` comes on any thread when WatchHub::Take has something.
  std::shared_ptr<WatchHub::Subscription> Watch(const job::v1::WatchJobsRequest& request, std::function<void()> notify);
  WatchHub& hub() { return hub_; }

 private:
  Workers& workers_;
  WatchHub& hub_;
};

// Without the pods. On the controller's loop.
job::v1::Job ToMessage(JobController& controller, const JobEntry& entry);

// Tells the hub of what changes for people. Call once for each controller, before its first slot.
void PublishChanges(JobController& controller, WatchHub& hub);

}  // namespace basalt::jobsvc
