#pragma once

// The part of a job that plugins and pod construction read. The template fields that other tasks need are parsed.
// Immutable once made.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/base/json.h"

namespace basalt::jobsvc {

struct TaskView {
  std::string name;
  int32_t replicas = 0;
  std::string hostname;   // Hostname in the template. Empty for each pod's own name.
  std::string subdomain;  // Subdomain in the template. Empty for the job's name.
  json::object pod_template;
};

struct JobView {
  std::string job_namespace;
  std::string name;
  std::string uid;
  std::vector<TaskView> tasks;
};

// `spec` is the effective spec. INVALID_ARGUMENT names the task whose template is no pod template in JSON.
absl::StatusOr<JobView> MakeJobView(const kube::v1::Job& job, const kube::v1::JobSpec& spec);

// Returns INVALID_ARGUMENT, beginning with `where`, if a part that pod construction edits has the wrong type. The API
// server checks everything else of a template.
absl::Status CheckTemplateShape(const json::value& pod_template, std::string_view where);

// <job>-<task>-<index>
std::string PodName(std::string_view job, std::string_view task, int32_t index);

// Null if there is no task of that name.
const TaskView* FindTask(const JobView& job, std::string_view name);

// Looks in a list of the template's spec: `containers` or `initContainers`. Null if there is no such container.
const json::value* FindContainer(const TaskView& task, std::string_view list, std::string_view name);

// Returns 0 if there is no such task.
int32_t ReplicasOf(const JobView& job, std::string_view task);

// Returns <hostname>.<subdomain> of that pod of the task, even if the task has fewer pods (job spec 11.1).
std::string HostOf(const JobView& job, const TaskView& task, int32_t index);

// Returns <hostname>.<subdomain> of every pod of the task, in order. There is one entry if the template sets the
// hostname, since all pods of the task share it (job spec 11.4). Empty if there are no replicas.
std::vector<std::string> HostsOf(const JobView& job, const TaskView& task);

// Returns the list with one element that every object owned by the job carries, with controller and blockOwnerDeletion.
json::array OwnerReferencesTo(std::string_view job_name, std::string_view job_uid);
inline json::array OwnerReferencesTo(const JobView& job) { return OwnerReferencesTo(job.name, job.uid); }

}  // namespace basalt::jobsvc
