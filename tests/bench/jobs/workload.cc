#include "tests/bench/jobs/workload.h"

#include <fmt/format.h>

#include <utility>

#include "common/kube/command.h"
#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "kubesim/actors/node/pod_run.h"
#include "tests/bench/jobs/bed.h"

namespace basalt::bench {

std::string JobName(std::string_view prefix, int number) { return fmt::format("{}-{}", prefix, number); }

actors::ApiRequest CreateJob(const std::string& name, const JobShape& shape) {
  std::string annotations;
  if (shape.runs != absl::ZeroDuration()) {
    annotations = fmt::format(R"("metadata":{{"annotations":{{"{}":"{}"}}}},)", actors::kDurationAnnotation,
                              absl::FormatDuration(shape.runs));
  }
  return {
      "POST", std::string(kJobsPath),
      fmt::format(R"({{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{{"name":"{}"}},"spec":{{)"
                  R"("schedulerName":"volcano","queue":"{}","minAvailable":{},{}"tasks":[{{"name":"t","replicas":{},)"
                  R"("template":{{{}"spec":{{"restartPolicy":"Never","containers":)"
                  R"([{{"name":"c","image":"busybox","resources":{{"requests":{{"cpu":"10m"}}}}}}]}}}}}}]}}}})",
                  name, shape.queue, shape.pods, shape.svc ? R"("plugins":{"svc":[]},)" : "", shape.pods, annotations)};
}

std::vector<actors::ApiRequest> CreateJobs(std::string_view prefix, int count, const JobShape& shape) {
  std::vector<actors::ApiRequest> requests;
  for (int i = 0; i < count; ++i) requests.push_back(CreateJob(JobName(prefix, i), shape));
  return requests;
}

actors::ApiRequest CreateBoundPod(const BoundPod& pod) {
  return {"POST", std::string(kPodsPath),
          fmt::format(
              R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","annotations":{{"{}":"{}"}},)"
              R"("ownerReferences":[{{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"{}",)"
              R"("uid":"{}","controller":true}}]}},"spec":{{"nodeName":"{}","restartPolicy":"Never",)"
              R"("containers":[{{"name":"c","image":"busybox","resources":{{"requests":{{"cpu":"10m"}}}}}}]}}}})",
              pod.name, actors::kDurationAnnotation, absl::FormatDuration(pod.runs), pod.job, pod.job_uid, pod.node)};
}

actors::ApiRequest CompleteJob(std::string_view job) {
  return {"PATCH", fmt::format("{}/{}/status", kJobsPath, job),
          R"({"status":{"state":{"phase":"Completed","lastTransitionTime":"2026-01-01T00:00:00Z"},"running":0,)"
          R"("succeeded":1,"runningDuration":"10s","taskStatusCount":{"t":{"phase":{"Running":null,"Succeeded":1}}}}})",
          actors::kMergePatchType};
}

actors::ApiRequest DeleteGroup(std::string_view job, std::string_view uid) {
  return {"DELETE", fmt::format("{}/{}-{}", kGroupsPath, job, uid), ""};
}

std::vector<actors::ApiRequest> CompleteJobOf(const View& view, std::string_view pod, std::string_view phase) {
  const std::string_view job = JobOfPod(pod);
  if (phase != "Succeeded" || job == pod) return {};
  return {CompleteJob(job), DeleteGroup(job, view.jobs.UidOf(job))};
}

actors::ApiRequest EndPod(const std::string& job) {
  return {"PATCH", fmt::format("{}/{}-t-0/status", kPodsPath, job), R"({"status":{"phase":"Succeeded"}})",
          actors::kMergePatchType};
}

actors::ApiRequest ScaleJob(const std::string& job, int pods) {
  return {"PATCH", fmt::format("{}/{}", kJobsPath, job),
          fmt::format(R"([{{"op":"replace","path":"/spec/tasks/0/replicas","value":{}}}])", pods),
          "application/json-patch+json"};
}

actors::ApiRequest CreateCommand(const std::string& object, std::string_view action, json::object target) {
  const std::string name = kube::CommandName(object, action, "bench");
  return {"POST", std::string(kCommandsPath), ToText(kube::CommandObject("default", name, action, std::move(target)))};
}

actors::ApiRequest AbortJob(const std::string& job, const std::string& uid) {
  return CreateCommand(job, "AbortJob",
                       kube::ControllerReference(kube::kJobApiVersion, kube::kJobs.name, job, uid,
                                                 /*blocks_deletion=*/false));
}

}  // namespace basalt::bench
