#include "tests/bench/cluster.h"

#include <fmt/format.h>

#include <iterator>
#include <map>

#include "common/base/json.h"
#include "common/base/status_macros.h"
#include "common/kube/resources/pod_group.h"
#include "gateway/translate/decoder.h"
#include "gateway/translate/sample_pod.h"
#include "services/jobsvc/core/spec/compiled_job.h"

namespace basalt::bench {
namespace {

constexpr std::string_view kTask = "worker";

std::string PodUid(int pod) { return fmt::format("5f0c8c1e-52a6-4c36-9ad1-{:012x}", pod); }

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

std::string JobName(int job) { return fmt::format("train-{:05}", job); }
std::string JobUid(int job) { return fmt::format("0d7c1a52-8f1b-4f0e-a3a5-{:012x}", job); }

std::string JobJson(const ClusterShape& shape, int job, int64_t resource_version) {
  return fmt::format(
      R"({{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{{"name":"{0}","namespace":"{1}",)"
      R"("uid":"{2}","resourceVersion":"{3}","generation":1,"creationTimestamp":"2026-01-02T15:04:05Z"}},)"
      R"("spec":{{"schedulerName":"volcano","queue":"research","minAvailable":{4},"maxRetry":3,)"
      R"("tasks":[{{"name":"{5}","replicas":{4},"minAvailable":{4},"template":{{"spec":{{"restartPolicy":"Never",)"
      R"("containers":[{{"name":"main","image":"registry.example.com/ml/train:2026.01",)"
      R"("resources":{{"requests":{{"cpu":"8","memory":"64Gi"}}}}}}]}}}}}}]}},)"
      R"("status":{{"state":{{"phase":"Running","lastTransitionTime":"2026-01-02T15:04:09Z"}},"minAvailable":{4},)"
      R"("running":{4},"taskStatusCount":{{"{5}":{{"phase":{{"Running":{4}}}}}}},)"
      R"("conditions":[{{"status":"Pending","lastTransitionTime":"2026-01-02T15:04:05Z"}},)"
      R"({{"status":"Running","lastTransitionTime":"2026-01-02T15:04:09Z"}}]}}}})",
      JobName(job), kNamespace, JobUid(job), resource_version, shape.pods_per_job, kTask);
}

absl::StatusOr<std::string> PodGroupJson(const ClusterShape& shape, int job, int64_t resource_version) {
  gateway::Decoder decoder(gateway::ObjectKind::kJob);
  BASALT_ASSIGN_OR_RETURN(const gateway::Decoded decoded, decoder.DecodeObject(JobJson(shape, job, 1)));
  const jobsvc::CompiledSpec compiled = jobsvc::CompileSpec(decoded.object.job(), [](std::string_view) { return 0; });
  podgroup::v1::EnsurePodGroupRequest request;
  request.set_namespace_(std::string(kNamespace));
  request.set_name(fmt::format("{}-{}", JobName(job), JobUid(job)));
  request.set_job_name(JobName(job));
  request.set_job_uid(JobUid(job));
  *request.mutable_spec() = compiled.group;
  BASALT_ASSIGN_OR_RETURN(json::value group, ParseJson(kube::PodGroupBody(request)));
  json::object& metadata = group.as_object()["metadata"].as_object();
  metadata["uid"] = fmt::format("9a7c1a52-8f1b-4f0e-a3a5-{:012x}", job);
  metadata["resourceVersion"] = fmt::to_string(resource_version);
  metadata["creationTimestamp"] = "2026-01-02T15:04:05Z";
  group.as_object()["status"] = json::object{{"phase", "Running"}, {"running", shape.pods_per_job}};
  return ToText(group);
}

PodWriter::PodWriter(ClusterShape shape) : shape_(shape) {
  std::string text(gateway::kSamplePod);
  // The order matters: an earlier text contains later ones.
  ReplaceAll(text, R"("volcano.sh/partition-id":"3",)", "");
  ReplaceAll(text, R"("volcano.sh/job-version":"4")", R"("volcano.sh/job-version":"0")");
  const std::map<char, Field> fields = {{'\1', Field::kName},   {'\2', Field::kUid},   {'\3', Field::kJob},
                                        {'\4', Field::kJobUid}, {'\5', Field::kIndex}, {'\6', Field::kVersion},
                                        {'\7', Field::kPhase},  {'\b', Field::kReady}};
  ReplaceAll(text, "train-worker-17", "\1");
  ReplaceAll(text, "5f0c8c1e-52a6-4c36-9ad1-3c1f2c6f0a11", "\2");
  ReplaceAll(text, "\"train\"", "\"\3\"");
  ReplaceAll(text, "\"train-", "\"\3-");
  ReplaceAll(text, "0d7c1a52-8f1b-4f0e-a3a5-94a0f0d2b1c7", "\4");
  ReplaceAll(text, "\"17\"", "\"\5\"");
  ReplaceAll(text, "48151623", "\6");
  ReplaceAll(text, R"("phase":"Running")", "\"phase\":\"\7\"");
  ReplaceAll(text, R"("ready":true)", "\"ready\":\b");
  size_t begin = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const auto field = fields.find(text[at]);
    if (field == fields.end()) continue;
    parts_.emplace_back(text.substr(begin, at - begin), field->second);
    begin = at + 1;
  }
  rest_ = text.substr(begin) + "}\n";
}

void PodWriter::AppendLine(std::string_view type, int pod, bool running, bool ready, int64_t resource_version,
                           std::string& out) {
  const int job = pod / shape_.pods_per_job;
  const int index = pod % shape_.pods_per_job;
  const auto append = std::back_inserter(out);
  fmt::format_to(append, R"({{"type":"{}","object":)", type);
  const std::string job_name = JobName(job);
  const std::string job_uid = JobUid(job);
  const std::string uid = PodUid(pod);
  for (const auto& [text, field] : parts_) {
    out += text;
    switch (field) {
      case Field::kName:
        fmt::format_to(append, "{}-{}-{}", job_name, kTask, index);
        break;
      case Field::kUid:
        out += uid;
        break;
      case Field::kJob:
        out += job_name;
        break;
      case Field::kJobUid:
        out += job_uid;
        break;
      case Field::kIndex:
        fmt::format_to(append, "{}", index);
        break;
      case Field::kVersion:
        fmt::format_to(append, "{}", resource_version);
        break;
      case Field::kPhase:
        out += running ? "Running" : "Pending";
        break;
      case Field::kReady:
        out += ready ? "true" : "false";
        break;
    }
  }
  out += rest_;
}

}  // namespace basalt::bench
