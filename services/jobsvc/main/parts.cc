#include "services/jobsvc/main/parts.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/exec/loop.h"
#include "common/runtime/typed_replica.h"
#include "common/runtime/watch/watch_part.h"
#include "services/jobsvc/api/job_api.h"
#include "services/jobsvc/api/job_service.h"
#include "services/jobsvc/api/job_watch.h"
#include "services/jobsvc/control/job_controller.h"
#include "services/jobsvc/main/loop_key_maker.h"

namespace basalt::jobsvc {

namespace {

// The controller of one worker, with everything that it needs beside the runtime.
class OwningController final : public runtime::Controller {
 public:
  OwningController(runtime::Context& context, std::shared_ptr<JobMetrics> metrics, const JobControllerOptions& options,
                   watch::WatchHub& hub)
      : keys_(context.loop(), MakeRsaKeySource(), MakeThreadLoop("keys")),
        metrics_(std::move(metrics)),
        inner_(context, keys_, *metrics_, options) {
    runtime::PublishChanges<WatchedJobs>(inner_, hub);
  }
  JobController& inner() { return inner_; }

  absl::StatusOr<std::vector<runtime::KnownObject>> OpenSlot(uint32_t slot) override { return inner_.OpenSlot(slot); }
  void CloseSlot(uint32_t slot) override { inner_.CloseSlot(slot); }
  void OnState(std::string_view key, const std::string& watch, kube::v1::Object&& object) override {
    inner_.OnState(key, watch, std::move(object));
  }
  void OnGone(std::string_view key, const runtime::Gone& gone) override { inner_.OnGone(key, gone); }
  void OnShared(const std::string& watch, const kube::v1::Object& object, bool gone) override {
    inner_.OnShared(watch, object, gone);
  }
  void Decide(std::string_view key, kv::WriteBatch& batch) override { inner_.Decide(key, batch); }
  void Act(std::string_view key) override { inner_.Act(key); }

 private:
  LoopKeyMaker keys_;
  const std::shared_ptr<JobMetrics> metrics_;  // Shared by all workers.
  JobController inner_;
};

}  // namespace

shell::ServiceParts MakeParts(obs::Metrics& metrics, obs::Health&) { return MakePartsWith(metrics, {}, false); }

shell::ServiceParts MakePartsWith(obs::Metrics& metrics, const JobControllerOptions& options, bool per_job_metrics,
                                  size_t max_watches, const kube::NamespaceRules& namespaces) {
  const auto job_metrics = std::make_shared<JobMetrics>(metrics, per_job_metrics);
  const auto hub = std::make_shared<watch::WatchHub>(max_watches);
  shell::ServiceParts parts;
  parts.make_controller = [hub, options, job_metrics](runtime::Context& context) {
    return std::make_unique<OwningController>(context, job_metrics, options, *hub);
  };
  parts.make_services = [hub, namespaces, defaults = options.defaults](runtime::Replica& replica, Loop& api_loop,
                                                                       std::unique_ptr<rpc::Members> members,
                                                                       std::shared_ptr<rpc::InflightLimiter> limiter) {
    return MakeJobServices(
        api_loop, std::move(limiter),
        {.workers = std::make_unique<runtime::TypedReplica<JobController, OwningController>>(replica),
         .members = std::move(members),
         .hub = hub,
         .defaults = defaults,
         .namespaces = namespaces});
  };
  return parts;
}

}  // namespace basalt::jobsvc
