#include "services/jobsvc/api/job_service.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "basalt/job/v1/job.grpc.pb.h"
#include "basalt/job/v1/job_part.grpc.pb.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/kube/label_selector.h"
#include "common/rpc/error_details.h"
#include "common/rpc/grpc/forward/forward.h"
#include "common/rpc/grpc/forward/serve.h"
#include "common/rpc/grpc/status_bridge.h"
#include "common/rpc/grpc/unary.h"
#include "services/jobsvc/api/answers.h"
#include "services/jobsvc/api/job_list.h"
#include "services/jobsvc/api/job_watch.h"
#include "services/jobsvc/api/manifest.h"

namespace basalt::jobsvc {

namespace {

using job::v1::JobPartService;
using job::v1::JobService;
using job::v1::ListPartRequest;
using job::v1::ListPartResponse;
using job::v1::WatchPartRequest;
using job::v1::WatchPartResponse;

// The objects that both services need. Tasks on the loop hold the core, so that nothing that they use is destroyed
// under them.
struct Core {
  Core(Loop& api_loop, std::shared_ptr<rpc::InflightLimiter> of_server, JobServiceParts service_parts)
      : loop(api_loop),
        limiter(std::move(of_server)),
        parts(std::move(service_parts)),
        api(*parts.workers, parts.hub),
        jobs(std::make_shared<rpc::Forwarder<JobService>>(loop, *parts.members)),
        job_parts(std::make_shared<rpc::Forwarder<JobPartService>>(loop, *parts.members)) {}

  void Stop() {
    jobs->Stop();
    job_parts->Stop();
  }

  Loop& loop;
  const std::shared_ptr<rpc::InflightLimiter> limiter;
  const JobServiceParts parts;
  JobApi api;
  rpc::ConnectionShares watches;
  const std::shared_ptr<rpc::Forwarder<JobService>> jobs;
  const std::shared_ptr<rpc::Forwarder<JobPartService>> job_parts;
};

// A dry run changes nothing.
rpc::Repeat RepeatOf(bool dry_run) { return dry_run ? rpc::Repeat::kIdempotent : rpc::Repeat::kOnce; }

// Each term of a selector is compared with each job.
constexpr size_t kMostTerms = 1000;

absl::Status CheckLabels(const job::v1::ListJobsRequest& request) {
  const auto labels = kube::LabelSelector::Parse(request.label_selector());
  if (!labels.ok()) return rpc::InvalidField("label_selector", ToStd(labels.status().message()));
  if (labels->terms() <= kMostTerms) return absl::OkStatus();
  return rpc::InvalidField("label_selector",
                           fmt::format("has {} keys and values; it may have {}", labels->terms(), kMostTerms));
}

class JobServiceImpl final : public JobService::CallbackService {
 public:
  explicit JobServiceImpl(std::shared_ptr<Core> core) : core_(std::move(core)) {
    // Hands this object over to the loop: gRPC's own ordering is not visible to the thread sanitizer.
    core_->loop.Post([] {});
  }
  ~JobServiceImpl() override {
    reading_.reset();
    core_->Stop();
  }

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context, const job::v1::SubmitJobRequest* request,
                                      job::v1::Job* response) override {
    return rpc::ServeUnary<job::v1::SubmitJobRequest, job::v1::Job>(
        *reading_, core_->limiter, context, request, response,
        [core = core_, caller = rpc::CallerOf(*context, *core_->parts.members)](job::v1::SubmitJobRequest asked,
                                                                                rpc::Done<job::v1::Job> done) mutable {
          // A wrong manifest is refused here. If the job is another replica's, that replica reads the text, too.
          absl::StatusOr<Manifest> manifest = Read(*core, asked);
          if (!manifest.ok()) return done(manifest.status());
          core->loop.Post([core, caller = std::move(caller), asked = std::move(asked), manifest = *std::move(manifest),
                           done = std::move(done)]() mutable {
            rpc::Target target{.ns = manifest.job.meta().namespace_(), .name = manifest.job.meta().name()};
            auto serve = [core, caller, asked = std::move(asked),
                          manifest = std::move(manifest)](rpc::Done<job::v1::Job> answered) mutable {
              Submit(core, std::move(caller), std::move(asked), std::move(manifest), std::move(answered));
            };
            rpc::Admit<job::v1::SubmitJobRequest, job::v1::Job>(core->loop, *core->parts.members, caller,
                                                                std::move(target), std::move(done), std::move(serve));
          });
        });
  }
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context, const job::v1::GetJobRequest* request,
                                   job::v1::Job* response) override {
    return AskOwner(context, request, response, rpc::Repeat::kIdempotent, &JobApi::Get,
                    [](auto& stub, auto... arguments) { stub.async()->GetJob(arguments...); });
  }
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context, const job::v1::ListJobsRequest* request,
                                     job::v1::ListJobsResponse* response) override {
    return rpc::ServeList<JobList>(core_, core_->job_parts, context, request, response, CheckLabels);
  }
  grpc::ServerWriteReactor<job::v1::WatchJobsResponse>* WatchJobs(grpc::CallbackServerContext* context,
                                                                  const job::v1::WatchJobsRequest* request) override {
    return rpc::ServeWatch<WatchedJobs>(core_, *core_->parts.members, core_->job_parts, context, request);
  }
  grpc::ServerUnaryReactor* GetJobHistory(grpc::CallbackServerContext* context,
                                          const job::v1::GetJobHistoryRequest* request,
                                          job::v1::JobHistory* response) override {
    return AskOwner(context, request, response, rpc::Repeat::kIdempotent, &JobApi::History,
                    [](auto& stub, auto... arguments) { stub.async()->GetJobHistory(arguments...); });
  }
  grpc::ServerUnaryReactor* CommandJob(grpc::CallbackServerContext* context, const job::v1::CommandJobRequest* request,
                                       job::v1::CommandJobResponse* response) override {
    return AskOwner(context, request, response, rpc::Repeat::kOnce, &JobApi::Command,
                    [](auto& stub, auto... arguments) { stub.async()->CommandJob(arguments...); });
  }
  grpc::ServerUnaryReactor* ScaleJob(grpc::CallbackServerContext* context, const job::v1::ScaleJobRequest* request,
                                     job::v1::Job* response) override {
    return AskOwner(context, request, response, RepeatOf(request->dry_run()), &JobApi::Scale,
                    [](auto& stub, auto... arguments) { stub.async()->ScaleJob(arguments...); });
  }
  grpc::ServerUnaryReactor* ExplainJob(grpc::CallbackServerContext* context, const job::v1::ExplainJobRequest* request,
                                       job::v1::JobExplanation* response) override {
    return AskOwner(context, request, response, rpc::Repeat::kIdempotent, &JobApi::Explain,
                    [](auto& stub, auto... arguments) { stub.async()->ExplainJob(arguments...); });
  }
  grpc::ServerUnaryReactor* DeleteJob(grpc::CallbackServerContext* context, const job::v1::DeleteJobRequest* request,
                                      job::v1::DeleteJobResponse* response) override {
    return AskOwner(context, request, response, rpc::Repeat::kOnce, &JobApi::Delete,
                    [](auto& stub, auto... arguments) { stub.async()->DeleteJob(arguments...); });
  }

 private:
  static absl::StatusOr<Manifest> Read(const Core& core, const job::v1::SubmitJobRequest& request) {
    absl::StatusOr<Manifest> manifest =
        ReadManifest(request.manifest_json(), request.namespace_(), core.parts.defaults);
    if (!manifest.ok()) return manifest;
    const std::string why = core.parts.namespaces.WhyNot(manifest->job.meta().namespace_());
    if (!why.empty()) return rpc::InvalidField("metadata.namespace", why);
    return manifest;
  }
  static void Submit(const std::shared_ptr<Core>& core, rpc::Caller caller, job::v1::SubmitJobRequest asked,
                     Manifest manifest, rpc::Done<job::v1::Job> done) {
    const std::string key = KeyOf(manifest.job.meta().namespace_(), manifest.job.meta().name());
    const bool dry_run = asked.dry_run();
    // While another replica answers, only the text is kept. The text is read again if the job comes back here.
    std::optional<Manifest> kept;
    if (core->jobs->IsHere(SlotOf(key))) kept = std::move(manifest);
    auto local = [core, user_token = caller.client.user_token, kept = std::move(kept)](
                     const job::v1::SubmitJobRequest& again, rpc::Done<job::v1::Job> answered) mutable {
      absl::StatusOr<Manifest> own = kept ? *std::move(kept) : Read(*core, again);
      if (!own.ok()) return answered(own.status());
      core->api.Submit(*std::move(own), again.dry_run(), user_token, std::move(answered));
    };
    core->jobs->Route(std::move(caller), SlotOf(key), fmt::format("job {}", key), RepeatOf(dry_run), std::move(asked),
                      std::move(done), std::move(local), rpc::Remote<job::v1::Job>([](auto& stub, auto... arguments) {
                        stub.async()->SubmitJob(arguments...);
                      }));
  }

  // Serves a call about one job, which the job's owner answers.
  template <typename Request, typename Response, typename Method, typename Start>
  grpc::ServerUnaryReactor* AskOwner(grpc::CallbackServerContext* context, const Request* request, Response* response,
                                     rpc::Repeat repeat, Method method, Start start) {
    return rpc::ServeAtOwner(core_, core_->jobs, context, request, response,
                             {"job", KeyOf(request->namespace_(), request->name())}, repeat, method, start);
  }

  const std::shared_ptr<Core> core_;
  // A large manifest takes long to read: only clients that submit one wait for that.
  std::unique_ptr<Loop> reading_ = MakeThreadLoop("manifests");
};

class JobPartServiceImpl final : public JobPartService::CallbackService {
 public:
  explicit JobPartServiceImpl(std::shared_ptr<Core> core) : core_(std::move(core)) {
    core_->loop.Post([] {});
  }

  grpc::ServerUnaryReactor* ListPart(grpc::CallbackServerContext* context, const ListPartRequest* request,
                                     ListPartResponse* response) override {
    return rpc::ServeHere(core_, context, request, response, &JobApi::ListPart);
  }
  grpc::ServerWriteReactor<WatchPartResponse>* WatchPart(grpc::CallbackServerContext*,
                                                         const WatchPartRequest* request) override {
    return rpc::ServeWatchPart<WatchedJobs>(core_, request);
  }

 private:
  const std::shared_ptr<Core> core_;
};

}  // namespace

std::vector<std::unique_ptr<rpc::GrpcService>> MakeJobServices(Loop& loop,
                                                               std::shared_ptr<rpc::InflightLimiter> limiter,
                                                               JobServiceParts parts) {
  const auto core = std::make_shared<Core>(loop, std::move(limiter), std::move(parts));
  std::vector<std::unique_ptr<rpc::GrpcService>> services;
  services.push_back(rpc::WrapService(std::make_unique<JobServiceImpl>(core)));
  services.push_back(rpc::WrapService(std::make_unique<JobPartServiceImpl>(core)));
  return services;
}

}  // namespace basalt::jobsvc
