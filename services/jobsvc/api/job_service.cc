#include "services/jobsvc/api/job_service.h"

#include <utility>

#include "basalt/job/v1/job.grpc.pb.h"
#include "common/rpc/status_bridge.h"
#include "common/rpc/unary.h"

namespace basalt::jobsvc {

namespace {

// One watch. Lives on the loop: gRPC's reactions and the hub's notices are posted there. Writes one message at a time;
// what comes meanwhile is merged in the hub.
class WatchReactor final : public grpc::ServerWriteReactor<job::v1::WatchJobsResponse> {
 public:
  WatchReactor(Loop& loop, JobApi& api, job::v1::WatchJobsRequest request)
      : loop_(loop), api_(api), self_(std::make_shared<WatchReactor*>(this)) {
    loop_.Post([self = self_, request = std::move(request)] {
      if (*self != nullptr) (*self)->Start(request);
    });
    made_.Tell();
  }

  void OnWriteDone(bool ok) override {
    loop_.Post([self = self_, ok] {
      WatchReactor& reactor = **self;
      reactor.writing_ = false;
      if (ok) {
        reactor.Next();
      } else {
        reactor.End();
      }
    });
  }
  void OnCancel() override {
    made_.See();
    loop_.Post([self = self_] {
      WatchReactor* reactor = *self;
      if (reactor == nullptr) return;
      reactor->cancelled_ = true;
      if (!reactor->writing_) reactor->End();
    });
  }
  void OnDone() override {
    loop_.Post([self = self_] {
      WatchReactor* reactor = *self;
      *self = nullptr;
      delete reactor;
    });
  }

 private:
  void Start(const job::v1::WatchJobsRequest& request) {
    // The hub calls this under its lock, on any thread.
    subscription_ = api_.Watch(request, [&loop = loop_, self = self_] {
      loop.Post([self] {
        if (*self != nullptr) (*self)->Next();
      });
    });
  }
  void Next() {
    if (finished_ || writing_) return;
    if (cancelled_) return End();
    if (const absl::Status end = api_.hub().EndOf(subscription_); !end.ok()) return End(rpc::ToGrpc(end));
    response_.Clear();
    if (!api_.hub().Take(subscription_, &response_)) return;
    writing_ = true;
    StartWrite(&response_);
  }
  void End(const grpc::Status& status = grpc::Status::CANCELLED) {
    if (finished_) return;
    finished_ = true;
    // Now, not in OnDone: a server that has drained its calls may end, and the API with it, before OnDone's task runs.
    api_.hub().Unsubscribe(subscription_);
    Finish(status);
  }

  Loop& loop_;
  JobApi& api_;
  const std::shared_ptr<WatchReactor*> self_;  // Null once it is destroyed; only touched on the loop.
  std::shared_ptr<WatchHub::Subscription> subscription_;
  job::v1::WatchJobsResponse response_;
  bool writing_ = false;
  bool cancelled_ = false;
  bool finished_ = false;
  rpc::Made made_;
};

class JobServiceImpl final : public job::v1::JobService::CallbackService {
 public:
  JobServiceImpl(Loop& loop, JobApi& api) : loop_(loop), api_(api) {}

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context, const job::v1::SubmitJobRequest* request,
                                      job::v1::Job* response) override {
    return rpc::ServeUnary<job::v1::SubmitJobRequest, job::v1::Job>(
        loop_, context, request, response, [this](job::v1::SubmitJobRequest asked, rpc::Done<job::v1::Job> done) {
          api_.Submit(std::move(asked), std::move(done));
        });
  }
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context, const job::v1::GetJobRequest* request,
                                   job::v1::Job* response) override {
    return rpc::ServeUnary<job::v1::GetJobRequest, job::v1::Job>(
        loop_, context, request, response, [this](job::v1::GetJobRequest asked, rpc::Done<job::v1::Job> done) {
          api_.Get(std::move(asked), std::move(done));
        });
  }
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context, const job::v1::ListJobsRequest* request,
                                     job::v1::ListJobsResponse* response) override {
    return rpc::ServeUnary<job::v1::ListJobsRequest, job::v1::ListJobsResponse>(
        loop_, context, request, response,
        [this](job::v1::ListJobsRequest asked, rpc::Done<job::v1::ListJobsResponse> done) {
          api_.List(std::move(asked), std::move(done));
        });
  }
  grpc::ServerWriteReactor<job::v1::WatchJobsResponse>* WatchJobs(grpc::CallbackServerContext*,
                                                                  const job::v1::WatchJobsRequest* request) override {
    return new WatchReactor(loop_, api_, *request);
  }
  grpc::ServerUnaryReactor* GetJobHistory(grpc::CallbackServerContext* context,
                                          const job::v1::GetJobHistoryRequest* request,
                                          job::v1::JobHistory* response) override {
    return rpc::ServeUnary<job::v1::GetJobHistoryRequest, job::v1::JobHistory>(
        loop_, context, request, response,
        [this](job::v1::GetJobHistoryRequest asked, rpc::Done<job::v1::JobHistory> done) {
          api_.History(std::move(asked), std::move(done));
        });
  }
  grpc::ServerUnaryReactor* DeleteJob(grpc::CallbackServerContext* context, const job::v1::DeleteJobRequest* request,
                                      job::v1::DeleteJobResponse* response) override {
    return rpc::ServeUnary<job::v1::DeleteJobRequest, job::v1::DeleteJobResponse>(
        loop_, context, request, response,
        [this](job::v1::DeleteJobRequest asked, rpc::Done<job::v1::DeleteJobResponse> done) {
          api_.Delete(std::move(asked), std::move(done));
        });
  }

 private:
  Loop& loop_;
  JobApi& api_;
};

}  // namespace

std::unique_ptr<rpc::GrpcService> MakeJobService(Loop& loop, JobApi& api) {
  return rpc::WrapService(std::make_unique<JobServiceImpl>(loop, api));
}

}  // namespace basalt::jobsvc
