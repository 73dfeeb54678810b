#pragma once

// What plugins and pod construction read of a job, with the few template fields that other tasks need already parsed.
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
  std::string hostname;   // Of the template; empty = each pod's own name.
  std::string subdomain;  // Of the template; empty = the job's name.
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

// INVALID_ARGUMENT, beginning with `where`, unless what pod construction edits has the right types: everything else of
// a template is the API server's to judge.
absl::Status CheckTemplateShape(const json::value& pod_template, std::string_view where);

// <job>-<task>-<index>
std::string PodName(std::string_view job, std::string_view task, int32_t index);

// Null: there is none of that name.
const TaskView* FindTask(const JobView& job, std::string_view name);

// In the list of that name of the template's spec: containers or initContainers. Null: there is none.
const json::value* FindContainer(const TaskView& task, std::string_view list, std::string_view name);

// 0 where there is no such task.
int32_t ReplicasOf(const JobView& job, std::string_view task);

// <hostname>.<subdomain> of that pod of the task, whether or not the task has so many (job spec 11.1).
std::string HostOf(const JobView& job, const TaskView& task, int32_t index);

// <hostname>.<subdomain> of every pod of the task, in order. One entry where the template sets the hostname: all its
// pods share it (job spec 11.4). Empty for no replicas.
std::vector<std::string> HostsOf(const JobView& job, const TaskView& task);

// The one-element list that every object owned by the job carries: controller and blockOwnerDeletion set.
json::array OwnerReferencesTo(std::string_view job_name, std::string_view job_uid);
inline json::array OwnerReferencesTo(const JobView& job) { return OwnerReferencesTo(job.name, job.uid); }

}  // namespace basalt::jobsvc
