#include "services/jobsvc/core/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "common/base/json.h"
#include "common/base/slots.h"
#include "common/kube/names.h"
#include "services/jobsvc/core/plugins/job_view.h"

namespace basalt::jobsvc {

namespace {

constexpr int64_t kMostPartitions = 1 << 30;
// Of a name, so that with what comes after it Kubernetes takes the whole.
constexpr size_t kMostOfJobName = 200;

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

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
  const std::string facts = fmt::format("{}/{}/{}/{}", job.meta().uid(), action, TargetJson(target), request_id);
  std::string_view job_name = std::string_view(job.meta().name()).substr(0, kMostOfJobName);
  while (job_name.ends_with('.') || job_name.ends_with('-')) job_name.remove_suffix(1);
  // Two hashes: 32 bits alone meet too easily.
  return fmt::format("{}-{}-{:08x}{:08x}", job_name, Lower(action), Fnv1(facts), Fnv1("/" + facts));
}

std::string CommandJson(const kube::v1::Job& job, std::string_view name, std::string_view action,
                        const CommandTarget& target) {
  json::array owners = OwnerReferencesTo(job.meta().name(), job.meta().uid());
  json::object metadata;
  metadata["name"] = std::string(name);
  metadata["namespace"] = job.meta().namespace_();
  metadata["ownerReferences"] = owners;
  if (const std::string text = TargetJson(target); !text.empty()) {
    metadata["annotations"] = json::object{{std::string(kube::kCommandTargetKey), text}};
  }
  json::object command;
  command["apiVersion"] = std::string(kube::kCommandApiVersion);
  command["kind"] = "Command";
  command["metadata"] = std::move(metadata);
  command["action"] = std::string(action);
  command["target"] = std::move(owners.front());
  return ToText(command);
}

std::string TargetText(const CommandTarget& target) {
  if (!target.pod.empty()) return fmt::format("pod {}", target.pod);
  if (target.task.empty()) return {};
  if (!target.partition) return fmt::format("task {}", target.task);
  return fmt::format("task {}, partition {}", target.task, *target.partition);
}

}  // namespace basalt::jobsvc
