#include "tests/simulation/planned_job.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <utility>

#include "common/base/json.h"
#include "common/kube/names.h"

namespace basalt::simulation {
namespace {

std::string GoDuration(absl::Duration duration) { return fmt::format("{}ms", absl::ToInt64Milliseconds(duration)); }

json::value PoliciesJson(const PlannedJob& job, int task) {
  json::array policies;
  for (const PlannedPolicy& policy : job.policies) {
    if (policy.task != task) continue;
    json::object one{{"action", policy.action}};
    if (policy.event.empty()) {
      one["exitCode"] = policy.exit_code;
    } else {
      one["event"] = policy.event;
    }
    if (policy.timeout > absl::ZeroDuration()) one["timeout"] = GoDuration(policy.timeout);
    policies.push_back(std::move(one));
  }
  return policies;
}

}  // namespace

std::string JobManifest(const PlannedJob& job) {
  json::array tasks;
  for (size_t t = 0; t < job.tasks.size(); ++t) {
    const PlannedTask& planned = job.tasks[t];
    json::object container{
        {"name", "c"},
        {"image", "busybox"},
        {"command", {"sh", "-c", fmt::format("sleep {}; exit {}", planned.seconds, planned.exit_code)}},
        {"resources", {{"requests", {{"cpu", "100m"}}}}}};
    json::object pod{{"restartPolicy", "Never"}, {"containers", json::array{container}}};
    if (!planned.fits) pod["nodeSelector"] = {{"no", "such"}};
    json::object task{{"name", fmt::format("t{}", t)}, {"replicas", planned.replicas}, {"template", {{"spec", pod}}}};
    if (planned.waits) task["dependsOn"] = {{"name", json::array{fmt::format("t{}", t - 1)}}};
    json::value policies = PoliciesJson(job, static_cast<int>(t));
    if (!policies.as_array().empty()) task["policies"] = std::move(policies);
    tasks.push_back(std::move(task));
  }
  json::object plugins;
  for (const std::string& plugin : job.plugins) plugins[plugin] = json::array();
  json::object spec{{"schedulerName", "volcano"}, {"queue", job.late_queue ? std::string(kLateQueue) : "default"},
                    {"maxRetry", job.max_retry},  {"policies", PoliciesJson(job, -1)},
                    {"plugins", plugins},         {"tasks", tasks}};
  if (job.min_available > 0) spec["minAvailable"] = job.min_available;
  return ToText(json::object{{"apiVersion", "batch.volcano.sh/v1alpha1"},
                             {"kind", "Job"},
                             {"metadata", {{"name", job.name}, {"namespace", "default"}}},
                             {"spec", spec}});
}

PodPlace PlaceOf(const PlannedJob& job, std::string_view pod) {
  if (!pod.starts_with(job.name + "-t")) return {};
  pod.remove_prefix(job.name.size() + 2);
  PodPlace place;
  const auto [end, error] = std::from_chars(pod.data(), pod.data() + pod.size(), place.task);
  if (error != std::errc() || end == pod.data() + pod.size() || *end != '-') return {};
  const auto [stop, bad] = std::from_chars(end + 1, pod.data() + pod.size(), place.index);
  return bad == std::errc() && stop == pod.data() + pod.size() ? place : PodPlace();
}

std::string CommandName(const PlannedJob& job, const PlannedCommand& command) {
  std::string name = fmt::format("{}-{}-{}", job.name, command.action, command.number);
  for (char& c : name) c = static_cast<char>(std::tolower(c));
  return name;
}

std::string CommandManifest(const PlannedJob& job, const PlannedCommand& command) {
  json::object target{{"apiVersion", "batch.volcano.sh/v1alpha1"},
                      {"kind", "Job"},
                      {"name", job.name},
                      {"uid", command.target},
                      {"controller", true}};
  json::object metadata{{"name", CommandName(job, command)}, {"namespace", "default"}};
  // The garbage collector would delete the Command with an owner that is gone.
  if (command.owned) metadata["ownerReferences"] = json::array{target};
  json::object about;
  if (!command.task.empty()) about["task"] = command.task;
  if (!command.pod.empty()) about["pod"] = command.pod;
  if (!command.pod_uid.empty()) about["uid"] = command.pod_uid;
  if (!about.empty()) metadata["annotations"] = {{kube::kCommandTargetKey, ToText(about)}};
  return ToText(json::object{{"apiVersion", "bus.volcano.sh/v1alpha1"},
                             {"kind", "Command"},
                             {"metadata", metadata},
                             {"action", command.action},
                             {"target", target}});
}

std::string ScalingPatch(const PlannedJob& job, const PlannedScaling& scaling) {
  json::array patch{json::object{{"op", "test"}, {"path", "/metadata/uid"}, {"value", job.uid}}};
  for (size_t t = 0; t < scaling.replicas.size(); ++t) {
    patch.push_back(json::object{
        {"op", "add"}, {"path", fmt::format("/spec/tasks/{}/replicas", t)}, {"value", scaling.replicas[t]}});
  }
  patch.push_back(json::object{{"op", "add"}, {"path", "/spec/minAvailable"}, {"value", scaling.min_available}});
  return ToText(patch);
}

bool IsFinishedPhase(std::string_view phase) {
  return phase == "Completed" || phase == "Failed" || phase == "Terminated";
}

bool IsLivePhase(std::string_view phase) { return phase == "Pending" || phase == "Running" || phase == "Restarting"; }

}  // namespace basalt::simulation
