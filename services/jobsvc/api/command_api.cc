// Commands requested over gRPC: they are checked against the present job, then created in Kubernetes like those of
// anybody else.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/kube/requests.h"
#include "common/rpc/error_details.h"
#include "services/jobsvc/api/answers.h"
#include "services/jobsvc/api/job_api.h"
#include "services/jobsvc/core/events/command.h"

namespace basalt::jobsvc {

namespace {

// INVALID_ARGUMENT: the request names no action that can be requested, or its members do not go with the action.
absl::Status CheckAction(const job::v1::CommandJobRequest& request) {
  const std::optional<Action> action = ParseAction(request.action());
  if (!action || *action == Action::kSyncJob || *action == Action::kEnqueueJob) {
    return rpc::InvalidField(
        "action",
        fmt::format(
            "'{}' is none; use AbortJob, ResumeJob, RestartJob, TerminateJob, CompleteJob, RestartTask, RestartPod "
            "or RestartPartition",
            request.action()));
  }
  const bool by_task = *action == Action::kRestartTask || *action == Action::kRestartPartition;
  struct Member {
    const char* name;
    bool given;
    bool needed;
  };
  for (const Member& member : {Member{"task", !request.task().empty(), by_task},
                               Member{"pod", !request.pod().empty(), *action == Action::kRestartPod},
                               Member{"partition", request.has_partition(), *action == Action::kRestartPartition}}) {
    if (member.given == member.needed) continue;
    return rpc::InvalidField(member.name,
                             fmt::format("{} {}", request.action(), member.needed ? "needs one" : "takes none"));
  }
  return absl::OkStatus();
}

// Finds the target in the present job. NOT_FOUND names the part that does not exist.
absl::StatusOr<CommandTarget> FindTarget(const JobEntry& entry, const job::v1::CommandJobRequest& request) {
  CommandTarget target{.task = request.task(), .pod = request.pod()};
  if (!request.pod().empty()) {
    const PodEntry* pod = entry.pods.Find(request.pod());
    const PodIndex place = entry.pods.shape().PlaceOf(request.pod());
    if (pod == nullptr || pod->has(kPodForeign) || !place.indexed()) {
      return OfJob(absl::StatusCode::kNotFound, entry.key,
                   fmt::format("job {} has no pod {}", entry.key, request.pod()));
    }
    if (pod->has(kPodTerminating)) {
      return MakeStatus(absl::StatusCode::kFailedPrecondition,
                        fmt::format("pod {} of job {} is being deleted already", request.pod(), entry.key));
    }
    target.task = entry.pods.shape().tasks()[place.task].name;
    target.pod_uid = pod->uid;
  }
  if (request.task().empty()) return target;
  for (const kube::v1::TaskSpec& task : entry.compiled->spec.tasks()) {
    if (task.name() != request.task()) continue;
    if (!request.has_partition()) return target;
    const int32_t partitions = task.partition_policy().total_partitions();
    if (request.partition() < 0 || request.partition() >= partitions) {
      return rpc::InvalidField("partition", partitions == 0
                                                ? fmt::format("task {} has no partitions", task.name())
                                                : fmt::format("{} is not between 0 and {}, which task {} has",
                                                              request.partition(), partitions - 1, task.name()));
    }
    target.partition = request.partition();
    return target;
  }
  return NoTask(entry.key, request.task());
}

}  // namespace

void JobApi::Command(job::v1::CommandJobRequest request, const std::string& user_token,
                     rpc::Done<job::v1::CommandJobResponse> done) {
  if (const absl::Status status = CheckAction(request); !status.ok()) return done(status);
  const std::string key = KeyOf(request.namespace_(), request.name());
  auto shared = std::make_shared<rpc::Done<job::v1::CommandJobResponse>>(std::move(done));
  workers_.OnWorkerOf(SlotOf(key), [key, user_token, request = std::move(request), shared](JobController& controller) {
    runtime::Context& context = controller.context();
    const absl::StatusOr<const JobEntry*> found = FindReconciledJob(controller, key, request.uid());
    if (!found.ok()) return (*shared)(found.status());
    const JobEntry* const entry = *found;
    if (entry->record.status_unread()) return (*shared)(NotReady(key));  // It is not known yet which pods exist.
    if (entry->job->meta().deletion_ms() != 0) return (*shared)(BeingDeleted(key));
    const absl::StatusOr<CommandTarget> target = FindTarget(*entry, request);
    if (!target.ok()) return (*shared)(target.status());
    const std::string id = request.request_id().empty() ? MakeUuid(context.random()) : request.request_id();
    const std::string name = CommandName(*entry->job, request.action(), *target, id);
    auto write = kube::WriteOf(kube::kCommands, entry->ns, name);
    write.mutable_create()->set_body(CommandJson(*entry->job, name, request.action(), *target));
    write.set_user_token(user_token);
    context.WriteForCaller(key, std::move(write), [name, shared](const runtime::WriteOutcome& outcome) {
      const bool is_there = runtime::IsNameTaken(outcome);
      if (const absl::Status status = StatusOf(outcome); !status.ok() && !is_there) return (*shared)(status);
      job::v1::CommandJobResponse response;
      response.set_command(name);
      (*shared)(std::move(response));
    });
  });
}

}  // namespace basalt::jobsvc
