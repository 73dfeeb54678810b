#include "common/runtime/objects/object_identity.h"

#include "common/kube/kinds.h"
#include "common/kube/names.h"

namespace basalt::runtime {
namespace {

template <typename T>
ObjectIdentity From(const T& meta) {
  return {meta.namespace_(), meta.name(), meta.uid(), meta.resource_version()};
}

std::string WatchOfWorkload(const kube::v1::Workload& workload) {
  const kube::Kind* const kind = kube::FindWorkloadKind(workload.api_version(), workload.kind());
  if (kind == nullptr) return {};
  return std::string(kube::kWatchWorkloadsPrefix) + std::string(kind->plural);
}

}  // namespace

ObjectIdentity Identify(const kube::v1::Object& object) {
  switch (object.kind_case()) {
    case kube::v1::Object::kJob:
      return From(object.job().meta());
    case kube::v1::Object::kPod:
      return From(object.pod());
    case kube::v1::Object::kPodGroup:
      return From(object.pod_group().meta());
    case kube::v1::Object::kQueue:
      return From(object.queue().meta());
    case kube::v1::Object::kCommand:
      return From(object.command().meta());
    case kube::v1::Object::kPriorityClass:
      return From(object.priority_class().meta());
    case kube::v1::Object::kWorkload:
      return From(object.workload().meta());
    case kube::v1::Object::kKaiPodGroup:
      return From(object.kai_pod_group().meta());
    case kube::v1::Object::kKaiQueue:
      return From(object.kai_queue().meta());
    case kube::v1::Object::kGeneric:
      return From(object.generic().meta());
    case kube::v1::Object::KIND_NOT_SET:
      break;
  }
  return {};
}

std::string WatchOf(const kube::v1::Object& object) {
  switch (object.kind_case()) {
    case kube::v1::Object::kJob:
      return std::string(kube::kWatchJobs);
    case kube::v1::Object::kPod:
      if (!object.pod().job_name().empty()) return std::string(kube::kWatchJobPods);
      return std::string(kube::kWatchSchedulerPodsPrefix) + object.pod().scheduler_name();
    case kube::v1::Object::kPodGroup:
      return std::string(kube::kWatchPodGroups);
    case kube::v1::Object::kQueue:
      return std::string(kube::kWatchQueues);
    case kube::v1::Object::kCommand:
      return std::string(kube::kWatchCommands);
    case kube::v1::Object::kPriorityClass:
      return std::string(kube::kWatchPriorityClasses);
    case kube::v1::Object::kWorkload:
      return WatchOfWorkload(object.workload());
    case kube::v1::Object::kKaiPodGroup:
      return std::string(kube::kWatchKaiPodGroups);
    case kube::v1::Object::kKaiQueue:
      return std::string(kube::kWatchKaiQueues);
    case kube::v1::Object::kGeneric:
    case kube::v1::Object::KIND_NOT_SET:
      break;
  }
  return {};
}

}  // namespace basalt::runtime
