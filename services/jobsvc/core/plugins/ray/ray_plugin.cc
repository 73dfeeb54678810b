#include "services/jobsvc/core/plugins/ray/ray_plugin.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/kube/names.h"
#include "services/jobsvc/core/plugins/stable_text.h"

namespace basalt::jobsvc {
namespace {

constexpr std::string_view kGcs = "gcs";
constexpr std::string_view kDashboard = "dashboard";
constexpr std::string_view kClientServer = "client-server";

void SetCommand(json::object& container, std::string_view script) {
  container["command"] = json::array{"sh", "-c", ToJson(script)};
}

// Warns if the template of the container has a command, or arguments for its image's command: neither ever runs.
void DoubtReplaced(const TaskView& task, std::string_view container, std::vector<std::string>& doubts) {
  const json::value* const found = FindContainer(task, "containers", container);
  for (const std::string_view field : {"command", "args"}) {
    const json::value* const words = found == nullptr ? nullptr : Find(*found, field);
    if (words == nullptr || !words->is_array() || words->get_array().empty()) continue;
    doubts.push_back(
        fmt::format("replaces the {} of the container '{}' of the task '{}' by ray start: {} never runs; run it in "
                    "another container, or by ray job submit",
                    field, container, task.name, Excerpt(ToText(*words))));
    return;
  }
}

}  // namespace

void RayPlugin::Define(Arguments& arguments) {
  arguments.Flag("head", &head_, "The task of the head");
  arguments.Flag("headContainer", &head_container_, "The container of the head's pod that starts the head");
  arguments.Flag("worker", &worker_, "The task of the workers");
  arguments.Flag("workerContainer", &worker_container_, "The container of a worker's pod that joins the head");
  arguments.Port("port", &port_, "The port on which the head listens");
  arguments.Port("dashboardPort", &dashboard_port_, "The port of the dashboard");
  arguments.Port("clientPort", &client_port_, "The port for clients");
  arguments.Port("clientServerPort", &client_port_, "Another name of clientPort");
}

std::vector<std::pair<std::string_view, int64_t>> RayPlugin::Ports() const {
  return {{kGcs, port_}, {kDashboard, dashboard_port_}, {kClientServer, client_port_}};
}

std::vector<WantedObject> RayPlugin::Objects(const JobView& job) const {
  WantedObject wanted{.plugin = "ray", .version = "v1", .plural = "services", .kind = "Service"};
  wanted.object_namespace = job.job_namespace;
  wanted.name = fmt::format("{}-head-svc", job.name);
  json::array ports;
  for (const auto& [name, port] : Ports()) {
    ports.push_back({{"name", ToJson(name)}, {"protocol", "TCP"}, {"port", port}, {"targetPort", ToJson(name)}});
  }
  json::object spec;
  spec["type"] = "ClusterIP";
  spec["selector"] = {{ToJson(kube::kJobNameKey), job.name},
                      {ToJson(kube::kJobNamespaceKey), job.job_namespace},
                      {ToJson(kube::kTaskSpecKey), head_}};
  spec["ports"] = std::move(ports);
  wanted.hash = ContentHash(ToText(spec));
  json::object object = OwnedObject(job, "v1", wanted.kind, wanted.name);
  object["spec"] = std::move(spec);
  wanted.json = ToText(object);
  return {std::move(wanted)};
}

absl::Status RayPlugin::OnPod(PodEdit& pod) const {
  const TaskView* const head = FindTask(pod.job(), head_);
  if (head == nullptr) {
    return Invalid(fmt::format("ray works on the task '{}', which does not exist; name one with --head=", head_));
  }
  const bool is_head = pod.task().name == head_;
  if (!is_head && pod.task().name != worker_) return absl::OkStatus();
  const std::string address = fmt::format("{}:{}", HostOf(pod.job(), *head, 0), port_);
  pod.ForEachContainer(PodEdit::Containers::kNormal, [&](json::object& container) {
    if (FindString(container, "name") != (is_head ? head_container_ : worker_container_)) return;
    if (!is_head) return SetCommand(container, fmt::format("ray start --block --address={}", address));
    for (const auto& [name, port] : Ports()) PodEdit::AddPort(container, name, port);
    SetCommand(container, fmt::format("ray start --head --block --dashboard-host=0.0.0.0 --port={} --dashboard-port={} "
                                      "--ray-client-server-port={}",
                                      port_, dashboard_port_, client_port_));
  });
  return absl::OkStatus();
}

absl::Status RayPlugin::Check(const JobView&) const {
  if (port_ != dashboard_port_ && port_ != client_port_ && dashboard_port_ != client_port_) return absl::OkStatus();
  return Invalid(
      fmt::format("has one port twice among --port={}, --dashboardPort={} and --clientPort={}: no Service has "
                  "two ports of one number; give each a number of its own",
                  port_, dashboard_port_, client_port_));
}

// The Service finds ports by their names. It does not find a port that the head's container exposes under another name,
// and it leads to another port to which the container gave the name.
std::vector<std::string> RayPlugin::PortsOfOtherNames(const TaskView& head) const {
  std::vector<std::string> doubts;
  const json::value* const container = FindContainer(head, "containers", head_container_);
  const json::value* const ports = container == nullptr ? nullptr : Find(*container, "ports");
  if (ports == nullptr || !ports->is_array()) return doubts;
  for (const auto& [name, port] : Ports()) {
    for (const json::value& exposed : ports->get_array()) {
      const int64_t number = FindInt(exposed, "containerPort");
      const bool has_name = FindString(exposed, "name") == name;
      if (number == port && !has_name) {
        doubts.push_back(
            fmt::format("finds the port {} in the container '{}' under another name than '{}': the Service "
                        "does not lead there; give the port that name",
                        port, head_container_, name));
      } else if (number != port && has_name) {
        doubts.push_back(
            fmt::format("finds the name '{}' in the container '{}' at the port {}, not at {}: the Service leads "
                        "there; give that port another name",
                        name, head_container_, number, port));
      }
    }
  }
  return doubts;
}

std::vector<std::string> RayPlugin::Doubts(const JobView& job) const {
  std::vector<std::string> doubts;
  const TaskView* const head = FindTask(job, head_);
  if (head != nullptr) doubts = PortsOfOtherNames(*head);
  if (head != nullptr) DoubtReplaced(*head, head_container_, doubts);
  if (head != nullptr && FindContainer(*head, "containers", head_container_) == nullptr) {
    doubts.push_back(
        fmt::format("starts the head in the container '{}', which the task '{}' does not have: no head is "
                    "started; name one with --headContainer=",
                    head_container_, head_));
  }
  if (head != nullptr && head->replicas > 1) {
    doubts.push_back(
        fmt::format("has {} heads, the pods of the task '{}': the workers join the first one", head->replicas, head_));
  }
  const TaskView* const worker = FindTask(job, worker_);
  if (worker != nullptr && worker_ != head_) DoubtReplaced(*worker, worker_container_, doubts);
  if (worker == nullptr) {
    if (job.tasks.size() > 1) {
      doubts.push_back(
          fmt::format("looks for its workers in the task '{}', which does not exist: nobody joins the "
                      "head; name one with --worker=",
                      worker_));
    }
  } else if (worker_ != head_ && FindContainer(*worker, "containers", worker_container_) == nullptr) {
    doubts.push_back(
        fmt::format("starts a worker in the container '{}', which the task '{}' does not have: nobody "
                    "joins the head; name one with --workerContainer=",
                    worker_container_, worker_));
  }
  return doubts;
}

}  // namespace basalt::jobsvc
