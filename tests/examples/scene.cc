#include "tests/examples/scene.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/status_macros.h"
#include "common/kube/text.h"
#include "kubesim/actors/node/pod_run.h"
#include "tests/examples/one_job.h"

namespace basalt::examples {
namespace {

constexpr std::string_view kJobs = "jobs.batch.volcano.sh";
constexpr std::string_view kPodGroups = "podgroups.scheduling.volcano.sh";

std::string PodPath(const std::string& pod) { return fmt::format("/api/v1/namespaces/{}/pods/{}", kNamespace, pod); }

bool IsReady(const json::value& pod) {
  const json::value* phase = FindPath(pod, {"status", "phase"});
  const json::value* statuses = FindPath(pod, {"status", "containerStatuses"});
  if (phase == nullptr || *phase != "Running" || statuses == nullptr) return false;
  for (const json::value& status : statuses->get_array()) {
    if (status.at("ready") != true) return false;
  }
  return true;
}

}  // namespace

std::string Edited(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  if (at == text.npos || text.find(from, at + 1) != text.npos) return fmt::format("not once in it: {}", from);
  return text.replace(at, from.size(), to);
}

Scene::Scene(int nodes, bool workloads)
    : suite_({.seed = 5, .nodes = nodes, .workloads = workloads}), api_(suite_.api()) {
  suite_.StartAll();
  suite_.time().Advance(absl::Seconds(5));
}

void Scene::Run(std::string task, absl::Duration runs, absl::Duration ready_after) {
  behaviours_[std::move(task)] = {runs, ready_after};
}

absl::Status Scene::Submit(std::string_view yaml) {
  BASALT_ASSIGN_OR_RETURN(const jobsvc::Manifest manifest, ReadOneJob(yaml));
  BASALT_ASSIGN_OR_RETURN(json::value job, ParseJson(manifest.json));
  for (json::value& task : job.at("spec").at("tasks").as_array()) {
    const auto behaviour = behaviours_.find(std::string(FindString(task, "name")));
    if (behaviour == behaviours_.end()) continue;
    json::object& metadata = ObjectIn(task.at("template").as_object(), "metadata");
    json::object& annotations = ObjectIn(metadata, "annotations");
    annotations[actors::kDurationAnnotation] = kube::FormatGoDuration(behaviour->second.runs);
    annotations[actors::kReadyAfterAnnotation] = kube::FormatGoDuration(behaviour->second.ready_after);
  }
  BASALT_ASSIGN_OR_RETURN(const json::value stored, Create(job));
  name_ = manifest.job.meta().name();
  uid_ = FindString(stored.at("metadata"), "uid");
  return absl::OkStatus();
}

absl::StatusOr<json::value> Scene::Create(const json::value& object) { return api_.CreateObject(object); }

void Scene::RunPod(const std::string& pod, absl::Duration runs) {
  suite_.PatchObject(PodPath(pod),
                     fmt::format(R"([{{"op":"add","path":"/metadata/annotations/kubesim.basalt.dev~1duration",)"
                                 R"("value":"{}"}}])",
                                 kube::FormatGoDuration(runs)));
}

void Scene::Evict(const std::string& pod) { suite_.DeleteObject(PodPath(pod)); }

bool Scene::Becomes(std::string_view phase, absl::Duration limit) {
  return Until([&] { return Phase() == phase; }, limit);
}

std::string Scene::Phase() const { return suite_.JobPhase(kNamespace, name_); }

int64_t Scene::Count(std::string_view status_field) const {
  const json::value status = At(kJobs, name_, "/status");
  return status.is_object() ? FindInt(status, status_field) : 0;
}

std::string Scene::PodName(std::string_view task, int index) const {
  return fmt::format("{}-{}-{}", name_, task, index);
}

int Scene::Pods(std::string_view task, int replicas) const {
  int pods = 0;
  for (int i = 0; i < replicas; ++i) pods += Exists("pods", PodName(task, i)) ? 1 : 0;
  return pods;
}

int Scene::ReadyPods(std::string_view task, int replicas) const {
  int ready = 0;
  for (int i = 0; i < replicas; ++i) ready += IsReady(InPod(PodName(task, i), "")) ? 1 : 0;
  return ready;
}

bool Scene::Exists(std::string_view resource, std::string_view name) const {
  return api_.Get(resource, kNamespace, name) != nullptr;
}

std::vector<std::string> Scene::Made(std::string_view resource) const {
  std::vector<std::string> names;
  for (const kubesim::LoggedRequest& request : api_.log()) {
    if (request.verb != "create" || request.resource != resource || !request.subresource.empty()) continue;
    const std::string full = request.group.empty() ? request.resource : request.resource + "." + request.group;
    if (Exists(full, request.name) && std::find(names.begin(), names.end(), request.name) == names.end()) {
      names.push_back(request.name);
    }
  }
  return names;
}

json::value Scene::At(std::string_view resource, std::string_view name, std::string_view pointer) const {
  const bool cluster_wide = resource.starts_with("queues.");
  const auto object = api_.Get(resource, cluster_wide ? "" : kNamespace, name);
  if (object == nullptr) return nullptr;
  boost::system::error_code error;
  const json::value* const found = object->find_pointer(pointer, error);
  return found == nullptr ? json::value() : *found;
}

std::string Scene::TextAt(std::string_view resource, std::string_view name, std::string_view pointer) const {
  const json::value value = At(resource, name, pointer);
  return value.is_string() ? std::string(value.get_string()) : ToText(value);
}

json::value Scene::InGroup(std::string_view pointer) const {
  return At(kPodGroups, fmt::format("{}-{}", name_, uid_), pointer);
}

}  // namespace basalt::examples
