#include "gateway/route/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/kube/group_profile.h"
#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "gateway/route/object_ref.h"

namespace basalt::gateway {
namespace {

using kube::v1::Object;

constexpr std::string_view kJobGroupPrefix = "batch.volcano.sh/";

bool IsJobOf(std::string_view kind, std::string_view api_version) {
  return kind == "Job" && api_version.starts_with(kJobGroupPrefix);
}

// Routes to the group that is named after the pods' owner, or after a pod without an owner (podgroup spec 5).
Route ToGroupOf(std::string_view ns, std::string_view uid) {
  return {v1::SERVICE_KIND_POD_GROUP, kube::ObjectKey(ns, fmt::format("podgroup-{}", uid))};
}

// Names of objects contain no slash: a name with a slash names no queue, whatever the definition permits.
void AddQueue(std::string_view name, std::string key, std::vector<Route>& routes) {
  if (name.find('/') == std::string_view::npos) routes.push_back({v1::SERVICE_KIND_QUEUE, std::move(key)});
}

// Pods with the label of a job have no fields by which they could be grouped.
void AddGrouped(const kube::v1::Pod& pod, kube::GroupProfile profile, std::vector<Route>& routes) {
  if (!pod.has_grouping()) return;
  routes.push_back({v1::SERVICE_KIND_POD_GROUP, kube::NamespaceKey(pod.namespace_(), profile)});
}

void AddPod(const kube::v1::Pod& pod, const RouteOptions& options, std::vector<Route>& routes) {
  const bool of_job = IsJobOf(pod.owner_kind(), pod.owner_api_version());
  // A pod with the label by which a whole run is deleted concerns the job, whoever owns the pod.
  if (!pod.job_name().empty() && (of_job || !pod.job_uid_label().empty())) {
    routes.push_back({v1::SERVICE_KIND_JOB, kube::ObjectKey(pod.namespace_(), pod.job_name())});
    if (of_job) return;
  }
  const std::vector<std::string>& kai = options.kai_scheduler_names;
  if (std::find(kai.begin(), kai.end(), pod.scheduler_name()) != kai.end()) {
    AddGrouped(pod, kube::GroupProfile::kKai, routes);
    return;
  }
  if (options.is_rich) return AddGrouped(pod, kube::GroupProfile::kRich, routes);
  if (!pod.group_name().empty()) {
    routes.push_back({v1::SERVICE_KIND_POD_GROUP, kube::ObjectKey(pod.namespace_(), pod.group_name())});
    return;
  }
  routes.push_back(ToGroupOf(pod.namespace_(), pod.owner_uid().empty() ? pod.uid() : pod.owner_uid()));
}

void AddPodGroup(const kube::v1::PodGroup& group, const RouteOptions& options, std::vector<Route>& routes) {
  const kube::v1::ObjectMeta& meta = group.meta();
  bool is_of_job = false;
  for (const kube::v1::OwnerReference& owner : meta.owner_references()) {
    if (owner.controller() && IsJobOf(owner.kind(), owner.api_version())) {
      routes.push_back({v1::SERVICE_KIND_JOB, kube::ObjectKey(meta.namespace_(), owner.name())});
      is_of_job = true;
      break;
    }
  }
  const bool is_in_namespace = options.is_rich && !is_of_job;
  routes.push_back({v1::SERVICE_KIND_POD_GROUP, is_in_namespace
                                                    ? kube::NamespaceKey(meta.namespace_(), kube::GroupProfile::kRich)
                                                    : kube::ObjectKey(meta.namespace_(), meta.name())});
  const std::string& queue = group.spec().queue();
  AddQueue(queue, queue.empty() ? std::string(kube::kDefaultQueue) : queue, routes);
}

void AddWorkload(const kube::v1::Workload& workload, std::vector<Route>& routes) {
  if (workload.scheduler_name().empty()) return;
  routes.push_back(ToGroupOf(workload.meta().namespace_(), workload.meta().uid()));
}

void AddCommand(const kube::v1::Command& command, std::vector<Route>& routes) {
  const kube::v1::OwnerReference& target = command.target();
  if (IsJobOf(target.kind(), target.api_version())) {
    routes.push_back({v1::SERVICE_KIND_JOB, kube::ObjectKey(command.meta().namespace_(), target.name())});
  } else if (target.kind() == "Queue" && target.api_version() == kube::kSchedulingApiVersion) {
    AddQueue(target.name(), target.name(), routes);
  }
}

}  // namespace

std::vector<Route> Routes(const Object& object, const RouteOptions& options) {
  std::vector<Route> routes;
  switch (object.kind_case()) {
    case Object::kJob:
      routes.push_back(
          {v1::SERVICE_KIND_JOB, kube::ObjectKey(object.job().meta().namespace_(), object.job().meta().name())});
      break;
    case Object::kPod:
      AddPod(object.pod(), options, routes);
      break;
    case Object::kPodGroup:
      AddPodGroup(object.pod_group(), options, routes);
      break;
    case Object::kCommand:
      AddCommand(object.command(), routes);
      break;
    case Object::kKaiPodGroup:
      routes.push_back({v1::SERVICE_KIND_POD_GROUP,
                        kube::NamespaceKey(object.kai_pod_group().meta().namespace_(), kube::GroupProfile::kKai)});
      if (object.kai_pod_group().queue().empty()) break;
      AddQueue(object.kai_pod_group().queue(), kube::KaiQueueKey(object.kai_pod_group().queue()), routes);
      break;
    case Object::kKaiQueue:
      routes.push_back({v1::SERVICE_KIND_QUEUE, kube::KaiQueueKey(object.kai_queue().meta().name())});
      break;
    case Object::kWorkload:
      if (!options.is_rich) AddWorkload(object.workload(), routes);
      break;
    default:
      break;
  }
  return routes;
}

bool IsBroadcast(const Object& object) {
  // The only generic objects that are watched as a whole are Kartas and the definition of KAI's groups.
  return object.kind_case() == Object::kQueue || object.kind_case() == Object::kPriorityClass ||
         object.kind_case() == Object::kGeneric;
}

bool IsReducedFor(v1::ServiceKind service) { return service == v1::SERVICE_KIND_QUEUE; }

void ReduceFor(v1::ServiceKind service, Object& object) {
  if (!IsReducedFor(service)) return;
  if (object.kind_case() == Object::kPodGroup) {
    Object reduced = IdentityOf(object);
    reduced.mutable_pod_group()->mutable_spec()->set_queue(object.pod_group().spec().queue());
    reduced.mutable_pod_group()->set_phase(object.pod_group().phase());
    object = std::move(reduced);
  } else if (object.kind_case() == Object::kKaiPodGroup) {
    Object reduced = IdentityOf(object);
    reduced.mutable_kai_pod_group()->set_queue(object.kai_pod_group().queue());
    object = std::move(reduced);
  }
}

bool MatchesWatch(std::string_view watch, const Object& object) {
  if (object.kind_case() != Object::kPod) return true;
  const kube::v1::Pod& pod = object.pod();
  if (watch == kube::kWatchJobPods) return !pod.job_name().empty();
  if (watch.starts_with(kube::kWatchSchedulerPodsPrefix)) {
    return pod.scheduler_name() == watch.substr(kube::kWatchSchedulerPodsPrefix.size());
  }
  return true;
}

bool Uses(v1::ServiceKind service, std::string_view watch) {
  const bool pods = watch.starts_with("pods/");
  const bool workloads = watch.starts_with(kube::kWatchWorkloadsPrefix);
  const bool grouping = kube::IsGroupingWatch(watch);
  switch (service) {
    case v1::SERVICE_KIND_JOB:
      return !workloads && !grouping && watch != kube::kWatchKaiQueues;
    case v1::SERVICE_KIND_POD_GROUP:
      return watch != kube::kWatchJobs && watch != kube::kWatchCommands && watch != kube::kWatchKaiQueues;
    case v1::SERVICE_KIND_QUEUE:
      return watch == kube::kWatchKaiPodGroups || (!pods && !workloads && !grouping && watch != kube::kWatchJobs);
    default:
      return false;
  }
}

}  // namespace basalt::gateway
