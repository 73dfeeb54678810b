#include "services/jobsvc/core/plugins/job_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/command.h"
#include "common/kube/kinds.h"
#include "common/kube/names.h"

namespace basalt::jobsvc {
namespace {

absl::Status WrongShape(std::string_view where, std::string_view field, std::string_view wanted) {
  return Invalid(fmt::format("{}{}: is not {}; write it as Kubernetes' PodTemplateSpec", where, field, wanted));
}

bool IsAbsent(const json::value* value) { return value == nullptr || value->is_null(); }

bool IsListOfObjects(const json::value* value) {
  if (IsAbsent(value)) return true;
  if (!value->is_array()) return false;
  for (const json::value& item : value->get_array()) {
    if (!item.is_object()) return false;
  }
  return true;
}

}  // namespace

std::string PodName(std::string_view job, std::string_view task, int32_t index) {
  return fmt::format("{}-{}-{}", job, task, index);
}

absl::Status CheckTemplateShape(const json::value& pod_template, std::string_view where) {
  if (!pod_template.is_object()) return WrongShape(where, "", "an object");
  const json::value* metadata = Find(pod_template, "metadata");
  if (!IsAbsent(metadata)) {
    if (!metadata->is_object()) return WrongShape(where, ".metadata", "an object");
    for (const std::string_view map : {"labels", "annotations"}) {
      const json::value* found = Find(*metadata, map);
      if (!IsAbsent(found) && !found->is_object())
        return WrongShape(where, fmt::format(".metadata.{}", map), "an object");
    }
  }
  const json::value* spec = Find(pod_template, "spec");
  if (spec == nullptr || !spec->is_object()) return WrongShape(where, ".spec", "an object");
  if (!IsListOfObjects(Find(*spec, "volumes"))) return WrongShape(where, ".spec.volumes", "a list of objects");
  for (const std::string_view list : {"containers", "initContainers"}) {
    const json::value* containers = Find(*spec, list);
    if (!IsListOfObjects(containers)) return WrongShape(where, fmt::format(".spec.{}", list), "a list of objects");
    if (IsAbsent(containers)) continue;
    for (const json::value& container : containers->get_array()) {
      for (const std::string_view field : {"env", "volumeMounts", "ports"}) {
        if (!IsListOfObjects(Find(container, field))) {
          return WrongShape(where, fmt::format(".spec.{}[].{}", list, field), "a list of objects");
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<JobView> MakeJobView(const kube::v1::Job& job, const kube::v1::JobSpec& spec) {
  JobView view;
  view.job_namespace = job.meta().namespace_();
  view.name = job.meta().name();
  view.uid = job.meta().uid();
  view.tasks.reserve(spec.tasks_size());
  for (int i = 0; i < spec.tasks_size(); ++i) {
    const kube::v1::TaskSpec& task = spec.tasks(i);
    if (task.template_json().empty()) {
      return Invalid(fmt::format("spec.tasks[{}].template is missing; say which pods the task makes", i));
    }
    absl::StatusOr<json::value> parsed = ParseJson(task.template_json());
    if (!parsed.ok()) return Annotate(parsed.status(), fmt::format("spec.tasks[{}].template", i));
    BASALT_RETURN_IF_ERROR(CheckTemplateShape(*parsed, fmt::format("spec.tasks[{}].template", i)));
    TaskView out;
    out.name = task.name();
    out.replicas = task.replicas();
    const json::value& pod_spec = parsed->get_object().at("spec");
    out.hostname = std::string(FindString(pod_spec, "hostname"));
    out.subdomain = std::string(FindString(pod_spec, "subdomain"));
    out.pod_template = std::move(parsed->get_object());
    view.tasks.push_back(std::move(out));
  }
  return view;
}

const TaskView* FindTask(const JobView& job, std::string_view name) {
  const auto found =
      std::find_if(job.tasks.begin(), job.tasks.end(), [name](const TaskView& task) { return task.name == name; });
  return found == job.tasks.end() ? nullptr : &*found;
}

const json::value* FindContainer(const TaskView& task, std::string_view list, std::string_view name) {
  const json::value* const spec = task.pod_template.if_contains("spec");
  const json::value* const containers = spec == nullptr ? nullptr : Find(*spec, list);
  if (containers == nullptr || !containers->is_array()) return nullptr;
  for (const json::value& container : containers->get_array()) {
    if (FindString(container, "name") == name) return &container;
  }
  return nullptr;
}

int32_t ReplicasOf(const JobView& job, std::string_view task) {
  const TaskView* const found = FindTask(job, task);
  return found == nullptr ? 0 : found->replicas;
}

std::string HostOf(const JobView& job, const TaskView& task, int32_t index) {
  return fmt::format("{}.{}", task.hostname.empty() ? PodName(job.name, task.name, index) : task.hostname,
                     task.subdomain.empty() ? job.name : task.subdomain);
}

std::vector<std::string> HostsOf(const JobView& job, const TaskView& task) {
  const int32_t count = task.hostname.empty() ? task.replicas : std::min(task.replicas, 1);
  std::vector<std::string> hosts;
  hosts.reserve(std::max(count, 0));
  for (int32_t i = 0; i < count; ++i) hosts.push_back(HostOf(job, task, i));
  return hosts;
}

json::array OwnerReferencesTo(std::string_view job_name, std::string_view job_uid) {
  return {kube::ControllerReference(kube::kJobApiVersion, kube::kJobs.name, job_name, job_uid,
                                    /*blocks_deletion=*/true)};
}

}  // namespace basalt::jobsvc
