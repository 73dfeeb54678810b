// Scaling (job spec 9.12): the request is checked against the present job in Kubernetes, then a patch changes the
// values that differ.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "common/base/json.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/requests.h"
#include "common/reconcile/effect.h"
#include "common/rpc/error_details.h"
#include "services/jobsvc/api/answers.h"
#include "services/jobsvc/api/job_api.h"
#include "services/jobsvc/api/manifest.h"
#include "services/jobsvc/core/render/effective_spec.h"
#include "services/jobsvc/core/spec/check_spec.h"
#include "services/jobsvc/core/validate/validate.h"

namespace basalt::jobsvc {

namespace {

json::object Operation(std::string_view op, std::string_view path, json::value value) {
  json::object operation;
  operation["op"] = op;
  operation["path"] = path;
  operation["value"] = std::move(value);
  return operation;
}

// A request, applied to the job as Kubernetes stores it.
class Scaling {
 public:
  Scaling(const job::v1::ScaleJobRequest& request, const kube::v1::Job& job)
      : request_(request), before_(job), effective_(EffectiveSpec(job)), after_(job) {}

  // NOT_FOUND: there is no such task. INVALID_ARGUMENT: a rule is broken.
  absl::Status Apply() {
    if (request_.tasks().empty() && !request_.has_min_available()) {
      return rpc::InvalidField("tasks", "name at least one task and its replicas, or give min_available");
    }
    for (const job::v1::TaskScale& scale : request_.tasks()) {
      BASALT_RETURN_IF_ERROR(ApplyTo(scale));
    }
    Set(request_.has_min_available(), request_.min_available(), after_.spec().has_min_available(),
        after_.spec().min_available(), "/spec/minAvailable",
        [this](int32_t value) { after_.mutable_spec()->set_min_available(value); });
    return Check();
  }

  bool changes() const { return !operations_.empty(); }
  const kube::v1::Job& after() const { return after_; }

  // Returns the patch. It applies only to the spec that was checked, whatever happens to the status meanwhile.
  std::string Body() {
    json::array list;
    list.push_back(Operation("test", "/metadata/generation", before_.meta().generation()));
    for (json::object& operation : operations_) list.push_back(std::move(operation));
    return ToText(list);
  }

 private:
  absl::Status ApplyTo(const job::v1::TaskScale& scale) {
    kube::v1::JobSpec& spec = *after_.mutable_spec();
    for (int i = 0; i < spec.tasks_size(); ++i) {
      if (effective_.tasks(i).name() != scale.task()) continue;
      kube::v1::TaskSpec* const task = spec.mutable_tasks(i);
      Set(scale.has_replicas(), scale.replicas(), true, task->replicas(), fmt::format("/spec/tasks/{}/replicas", i),
          [task](int32_t value) { task->set_replicas(value); });
      Set(scale.has_min_available(), scale.min_available(), task->has_min_available(), task->min_available(),
          fmt::format("/spec/tasks/{}/minAvailable", i), [task](int32_t value) { task->set_min_available(value); });
      return absl::OkStatus();
    }
    return NoTask(KeyOf(before_.meta().namespace_(), before_.meta().name()), scale.task());
  }

  template <typename Setter>
  void Set(bool asked, int32_t wanted, bool has_value, int32_t value, const std::string& path, Setter set) {
    if (!asked || (has_value && value == wanted)) return;
    set(wanted);
    operations_.push_back(Operation("add", path, wanted));
  }

  absl::Status Check() {
    const auto violations = ValidateUpdate(before_.spec(), after_.spec());
    if (!violations.empty()) return InvalidSpec(violations);
    // A minAvailable that the spec never had is the one with which the job started (2.8).
    const int64_t total = SumOfReplicas(after_.spec());
    const bool started = before_.status().phase() != kube::v1::JOB_PHASE_UNSPECIFIED;
    if (!after_.spec().has_min_available() && started && before_.status().min_available() > total) {
      return rpc::InvalidFields(
          {{"spec.minAvailable",
            fmt::format(
                "spec.minAvailable is {} since the job started, with {} replicas; give one that is at most that",
                before_.status().min_available(), total)}});
    }
    const SpecCheck known = CheckSpec(before_, effective_);
    const SpecCheck check = CheckSpec(after_, EffectiveSpec(after_));
    if (known.refusal.empty() && !check.refusal.empty()) return Invalid(check.refusal.message);
    return absl::OkStatus();
  }

  const job::v1::ScaleJobRequest& request_;
  const kube::v1::Job& before_;
  const kube::v1::JobSpec effective_;  // A task without a name has the name of its place (job spec 2.1).
  kube::v1::Job after_;
  std::vector<json::object> operations_;
};

using ScaleDone = std::shared_ptr<rpc::Done<job::v1::Job>>;

void Answer(const ScaleDone& done, kube::v1::Job job) {
  job::v1::Job answer;
  *answer.mutable_object() = std::move(job);
  (*done)(std::move(answer));
}

// Answers with the outcome of the write. A test of the patch that fails is a refusal without a field: somebody has
// changed the spec, or created the job anew.
void AnswerWrite(const std::string& key, kube::v1::Job meant, runtime::WriteOutcome outcome, const ScaleDone& done) {
  const gateway::v1::KubeError& error = outcome.error;
  const ::basalt::Answer answer = AnswerOf(outcome);
  const bool is_failed_test = answer == ::basalt::Answer::kInvalid && error.fields().empty();
  if (answer == ::basalt::Answer::kAlreadyExists || answer == ::basalt::Answer::kConflict || is_failed_test) {
    return (*done)(MakeStatus(absl::StatusCode::kAborted,
                              fmt::format("job {} was changed meanwhile; nothing was done, look at it again", key)));
  }
  if (answer == ::basalt::Answer::kNotFound) return (*done)(NotFound(key));
  if (const absl::Status status = StatusOf(outcome); !status.ok()) return (*done)(status);
  Answer(done, outcome.object.has_job() ? std::move(*outcome.object.mutable_job()) : std::move(meant));
}

void ScaleStored(runtime::Context& context, const std::string& key, const job::v1::ScaleJobRequest& request,
                 const std::string& user_token, const kube::v1::Job& job, const ScaleDone& done) {
  const std::string& uid = job.meta().uid();
  if (!request.uid().empty() && uid != request.uid()) return (*done)(NotFound(key, request.uid(), uid));
  if (!job.decode_error().empty()) {
    return (*done)(MakeStatus(absl::StatusCode::kFailedPrecondition,
                              fmt::format("job {} cannot be read: {}", key, job.decode_error())));
  }
  if (job.meta().deletion_ms() != 0) return (*done)(BeingDeleted(key));
  Scaling scaling(request, job);
  if (const absl::Status status = scaling.Apply(); !status.ok()) return (*done)(status);
  if (!scaling.changes()) return Answer(done, job);
  auto write = kube::WriteOf(kube::kJobs, job.meta().namespace_(), job.meta().name());
  gateway::v1::Patch& patch = *write.mutable_patch();
  patch.set_type(gateway::v1::Patch::TYPE_JSON);
  patch.set_uid(uid);
  patch.set_body(scaling.Body());
  write.set_dry_run(request.dry_run());
  write.set_user_token(user_token);
  context.WriteForCaller(key, std::move(write),
                         [key, done, meant = scaling.after()](runtime::WriteOutcome outcome) mutable {
                           AnswerWrite(key, std::move(meant), std::move(outcome), done);
                         });
}

}  // namespace

void JobApi::Scale(job::v1::ScaleJobRequest request, const std::string& user_token, rpc::Done<job::v1::Job> done) {
  const std::string key = KeyOf(request.namespace_(), request.name());
  const auto shared = std::make_shared<rpc::Done<job::v1::Job>>(std::move(done));
  workers_.OnWorkerOf(SlotOf(key), [key, user_token, request = std::move(request), shared](JobController& controller) {
    const absl::StatusOr<const JobEntry*> entry = FindJob(controller, key, request.uid());
    if (!entry.ok()) return (*shared)(entry.status());
    auto get = kube::GetOf(kube::kJobs, (*entry)->ns, (*entry)->name);
    // The job is read first: the controller keeps no spec as it was written, and defaults must not be written back.
    controller.context().GetForCaller(
        key, std::move(get),
        [key, user_token, request, shared, &controller](absl::StatusOr<gateway::v1::GetResponse> response) {
          if (!response.ok()) {
            return (*shared)(
                MakeStatus(absl::StatusCode::kUnavailable,
                           fmt::format("job {} could not be read: {}", key, ToStd(response.status().message()))));
          }
          if (response->has_object() && response->object().has_job()) {
            return ScaleStored(controller.context(), key, request, user_token, response->object().job(), shared);
          }
          if (AnswerOfRead(response) == ::basalt::Answer::kNotFound) return (*shared)(NotFound(key));
          const absl::Status refused = runtime::StatusOf(response->error());
          // Nothing was done, so the call may be repeated.
          const bool unknown = refused.code() == absl::StatusCode::kUnknown;
          (*shared)(
              Annotate(unknown ? MakeStatus(absl::StatusCode::kUnavailable, response->error().message()) : refused,
                       fmt::format("job {} could not be read", key)));
        });
  });
}

}  // namespace basalt::jobsvc
