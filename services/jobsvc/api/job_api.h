#pragma once

// The API of this replica for its own slots, without gRPC: handlers that run on the loops of the workers that own the
// keys, and the conversion of records into messages. Handlers may be called from any thread. `done` is called on a
// worker's loop, and is dropped if the worker has stopped. UNAVAILABLE: the slot is not open here.
#include <functional>
#include <memory>
#include <string>

#include "basalt/job/v1/job_part.pb.h"
#include "common/rpc/feed.h"
#include "common/rpc/peers.h"
#include "common/runtime/typed_replica.h"
#include "common/watch/watch_hub.h"
#include "services/jobsvc/api/manifest.h"
#include "services/jobsvc/control/job_controller.h"

namespace basalt::jobsvc {

using Workers = runtime::Workers<JobController>;

class JobApi {
 public:
  // The workers outlive the API.
  JobApi(Workers& workers, std::shared_ptr<watch::WatchHub> hub) : workers_(workers), hub_(std::move(hub)) {}

  // `manifest` was read in order to find the job's owner, and is not read again. `user_token`, here and below, is that
  // of the user whom Kubernetes is to take for the writer (WriteRequest.user_token).
  void Submit(Manifest manifest, bool dry_run, const std::string& user_token, rpc::Done<job::v1::Job> done);
  void Get(job::v1::GetJobRequest request, rpc::Done<job::v1::Job> done);
  void ListPart(job::v1::ListPartRequest request, rpc::Done<job::v1::ListPartResponse> done);
  void History(job::v1::GetJobHistoryRequest request, rpc::Done<job::v1::JobHistory> done);
  void Command(job::v1::CommandJobRequest request, const std::string& user_token,
               rpc::Done<job::v1::CommandJobResponse> done);
  void Scale(job::v1::ScaleJobRequest request, const std::string& user_token, rpc::Done<job::v1::Job> done);
  void Explain(job::v1::ExplainJobRequest request, rpc::Done<job::v1::JobExplanation> done);
  void Delete(job::v1::DeleteJobRequest request, const std::string& user_token,
              rpc::Done<job::v1::DeleteJobResponse> done);
  std::unique_ptr<rpc::Feed<job::v1::WatchPartResponse>> WatchPart(const job::v1::WatchPartRequest& request,
                                                                   std::function<void()> notify);

 private:
  Workers& workers_;
  const std::shared_ptr<watch::WatchHub> hub_;
};

job::v1::HistoryEntry ToMessage(const storage::v1::HistoryRecord& record);

// The message is without the pods. Requires that the job is there. Runs on the controller's loop.
job::v1::Job ToMessage(JobController& controller, const JobEntry& entry);

}  // namespace basalt::jobsvc
