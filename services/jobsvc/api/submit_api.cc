// The submission of a job: errors are reported before anything is created.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/kube/names.h"
#include "common/kube/requests.h"
#include "services/jobsvc/api/answers.h"
#include "services/jobsvc/api/job_api.h"
#include "services/jobsvc/api/manifest.h"
#include "services/jobsvc/core/validate/validate.h"

namespace basalt::jobsvc {

namespace {

// Checks C16a, C16b and C16d of the queue that a manifest names. While no queue is known, none can be called missing.
// The default queue is created and opened for everybody: a job that comes earlier waits for that.
absl::Status CheckQueue(const JobController& controller, const std::string& queue) {
  if (controller.queues().all().empty()) return absl::OkStatus();
  std::optional<QueueFacts> facts;
  if (const QueueView view = controller.queues().Find(queue); view.queue != nullptr) {
    facts = QueueFacts{.state = view.queue->state(), .has_children = view.has_children};
  }
  if (queue == kube::kDefaultQueue && (!facts || facts->state.empty())) return absl::OkStatus();
  const std::vector<Violation> violations = ValidateQueue(queue, facts);
  return violations.empty() ? absl::OkStatus() : InvalidSpec(violations);
}

}  // namespace

void JobApi::Submit(Manifest manifest, bool dry_run, const std::string& user_token, rpc::Done<job::v1::Job> done) {
  const std::string key = KeyOf(manifest.job.meta().namespace_(), manifest.job.meta().name());
  auto shared = std::make_shared<rpc::Done<job::v1::Job>>(std::move(done));
  workers_.OnWorkerOf(SlotOf(key), [key, dry_run, user_token, manifest = std::move(manifest),
                                    shared](JobController& controller) mutable {
    if (!controller.context().IsReady(SlotOf(key))) return (*shared)(NotReady(key));
    if (const absl::Status queue = CheckQueue(controller, manifest.job.spec().queue()); !queue.ok()) {
      return (*shared)(queue);
    }
    auto write = kube::WriteOf(kube::kJobs, manifest.job.meta().namespace_(), manifest.job.meta().name());
    write.mutable_create()->set_body(std::move(manifest.json));
    write.set_dry_run(dry_run);
    write.set_user_token(user_token);
    job::v1::Job answer;
    answer.mutable_warnings()->Assign(manifest.warnings.begin(), manifest.warnings.end());
    if (dry_run) *answer.mutable_object() = std::move(manifest.job);
    auto answered = [key, dry_run, shared, answer = std::move(answer)](runtime::WriteOutcome outcome) mutable {
      if (runtime::IsNameTaken(outcome)) {
        return (*shared)(OfJob(absl::StatusCode::kAlreadyExists, key, fmt::format("job {} exists already", key)));
      }
      const absl::Status status = StatusOf(outcome);
      if (dry_run && status.code() == absl::StatusCode::kUnknown) {
        const bool refused = outcome.kind == runtime::WriteOutcome::Kind::kRefused;
        return (*shared)(MakeStatus(
            absl::StatusCode::kUnavailable,
            fmt::format("job {} could not be checked: {}", key,
                        refused ? std::string_view(outcome.error.message()) : ToStd(outcome.status.message()))));
      }
      if (!status.ok()) return (*shared)(status);
      if (!dry_run) *answer.mutable_object() = std::move(*outcome.object.mutable_job());
      (*shared)(std::move(answer));
    };
    controller.context().WriteForCaller(key, std::move(write), std::move(answered));
  });
}

}  // namespace basalt::jobsvc
