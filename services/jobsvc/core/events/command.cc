#include "services/jobsvc/core/events/command.h"

#include <fmt/format.h>

#include "common/base/json.h"
#include "common/kube/command.h"
#include "common/kube/kinds.h"
#include "common/kube/names.h"

namespace basalt::jobsvc {

namespace {

constexpr int64_t kMostPartitions = 1 << 30;
std::string TargetJson(const CommandTarget& target) {
  json::object value;
  if (!target.task.empty()) value["task"] = target.task;
  if (!target.pod.empty()) value["pod"] = target.pod;
  if (!target.pod_uid.empty()) value["uid"] = target.pod_uid;
  if (target.partition) value["partition"] = *target.partition;
  return value.empty() ? std::string() : ToText(value);
}

}  // namespace

CommandTarget TargetOf(const kube::v1::Command& command) {
  CommandTarget target;
  for (const auto& annotation : command.meta().annotations()) {
    if (annotation.key() != kube::kCommandTargetKey) continue;
    const auto parsed = ParseJson(annotation.value());
    if (!parsed.ok() || !parsed->is_object()) return {};
    target.task = FindString(*parsed, "task");
    target.pod = FindString(*parsed, "pod");
    target.pod_uid = FindString(*parsed, "uid");
    if (Find(*parsed, "partition") != nullptr) {
      const int64_t partition = FindInt(*parsed, "partition", -1);
      target.partition = static_cast<int32_t>(partition < 0 || partition > kMostPartitions ? -1 : partition);
    }
  }
  return target;
}

std::string CommandName(const kube::v1::Job& job, std::string_view action, const CommandTarget& target,
                        std::string_view request_id) {
  return kube::CommandName(job.meta().name(), action,
                           fmt::format("{}/{}/{}/{}", job.meta().uid(), action, TargetJson(target), request_id));
}

std::string CommandJson(const kube::v1::Job& job, std::string_view name, std::string_view action,
                        const CommandTarget& target) {
  // The job's deletion does not wait for its Commands. Otherwise the user in whose name the Command is made would need
  // a right on the finalizers of jobs.
  json::object command = kube::CommandObject(
      job.meta().namespace_(), name, action,
      kube::ControllerReference(kube::kJobApiVersion, kube::kJobs.name, job.meta().name(), job.meta().uid(),
                                /*blocks_deletion=*/false));
  if (const std::string text = TargetJson(target); !text.empty()) {
    command["metadata"].as_object()["annotations"] = json::object{{std::string(kube::kCommandTargetKey), text}};
  }
  return ToText(command);
}

std::string TargetText(const CommandTarget& target) {
  if (!target.pod.empty()) return fmt::format("pod {}", target.pod);
  if (target.task.empty()) return {};
  if (!target.partition) return fmt::format("task {}", target.task);
  return fmt::format("task {}, partition {}", target.task, *target.partition);
}

}  // namespace basalt::jobsvc
