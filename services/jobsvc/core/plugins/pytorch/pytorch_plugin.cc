#include "services/jobsvc/core/plugins/pytorch/pytorch_plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "common/base/status.h"

namespace basalt::jobsvc {
namespace {

constexpr std::string_view kPytorchPortName = "pytorchjob-port";
constexpr std::string_view kMasterAddress = "MASTER_ADDR";
constexpr std::string_view kMasterPort = "MASTER_PORT";
constexpr std::string_view kWorldSize = "WORLD_SIZE";
constexpr std::string_view kRank = "RANK";
constexpr std::string_view kWaitName = "wait-for-master";

// The script for sh uses what the image has: nc, busybox's nc without -z, or bash. Each attempt has a time limit of its
// own, so that a host that drops packets counts against the whole time, too.
std::string WaitScript(std::string_view host, int64_t port, int64_t seconds) {
  return fmt::format(
      "begin=$(date +%s)\n"
      "reached() {{\n"
      "  nc -z -w 2 '{0}' {1} || nc -w 2 '{0}' {1} -e true || timeout 2 bash -c '</dev/tcp/{0}/{1}'\n"
      "}}\n"
      "until reached >/dev/null 2>&1; do\n"
      "  waited=$(($(date +%s) - begin))\n"
      "  if [ \"$waited\" -ge {2} ]; then\n"
      "    echo \"{0}:{1} does not listen after $waited s\"\n"
      "    exit 1\n"
      "  fi\n"
      "  echo \"waiting for {0}:{1} since $waited s\"\n"
      "  sleep 2\n"
      "done\n"
      "echo \"{0}:{1} listens\"\n",
      host, port, seconds);
}

}  // namespace

void PytorchPlugin::Define(Arguments& arguments) {
  arguments.Flag("master", &master_, "The task of the master, which has rank 0");
  arguments.Flag("worker", &worker_, "The task of the workers, which have the ranks from 1 on");
  arguments.Port("port", &port_, "The port on which the master listens");
  arguments.Flag("wait-master-enabled", &waits_for_master_, "Workers start once the master listens");
  arguments.Flag("wait-master-timeout", &wait_seconds_, "After so many seconds of waiting a worker fails", 1,
                 std::numeric_limits<int32_t>::max());
  arguments.Flag("wait-master-image", &wait_image_, "The image that waits; it has sh, and nc or bash");
}

void PytorchPlugin::AddWait(PodEdit& pod, std::string_view master_host) const {
  json::array& containers = ArrayMember(pod.spec(), "initContainers");
  const bool waits_already = std::any_of(containers.begin(), containers.end(), [](const json::value& container) {
    return FindString(container, "name") == kWaitName;
  });
  if (waits_already) return;
  json::object wait;
  wait["name"] = ToJson(kWaitName);
  wait["image"] = wait_image_;
  wait["command"] = json::array{"sh", "-c", json::string(WaitScript(master_host, port_, wait_seconds_))};
  containers.push_back(std::move(wait));
}

absl::Status PytorchPlugin::OnPod(PodEdit& pod) const {
  const JobView& job = pod.job();
  const TaskView* const master = FindTask(job, master_);
  if (master == nullptr) return absl::OkStatus();
  const bool is_master = pod.task().name == master_;
  const bool is_worker = !is_master && pod.task().name == worker_;
  const std::string master_host = HostOf(job, *master, 0);
  const int64_t world = int64_t{master->replicas} + (worker_ == master_ ? 0 : ReplicasOf(job, worker_));
  std::string rank;
  if (is_master) rank = "0";
  if (is_worker) rank = pod.PerPod([](int32_t index) { return fmt::format("{}", int64_t{index} + 1); });
  pod.ForEachContainer(PodEdit::Containers::kNormal,
                       [this](json::object& container) { PodEdit::AddPort(container, kPytorchPortName, port_); });
  std::vector<json::object> variables;
  variables.push_back({{"name", ToJson(kMasterAddress)}, {"value", master_host}});
  variables.push_back({{"name", ToJson(kMasterPort)}, {"value", fmt::format("{}", port_)}});
  variables.push_back({{"name", ToJson(kWorldSize)}, {"value", fmt::format("{}", world)}});
  if (!rank.empty()) variables.push_back({{"name", ToJson(kRank)}, {"value", rank}});
  pod.AddEnv(PodEdit::Containers::kNormal, variables);
  if (is_worker && waits_for_master_) AddWait(pod, master_host);
  return absl::OkStatus();
}

std::vector<PodVariable> PytorchPlugin::Variables(const JobView& job) const {
  if (FindTask(job, master_) == nullptr) return {};
  std::vector<PodVariable> variables;
  for (const std::string_view name : {kMasterAddress, kMasterPort, kWorldSize}) {
    variables.push_back({std::string(name)});
  }
  variables.push_back({std::string(kRank), master_});
  if (worker_ != master_) variables.push_back({std::string(kRank), worker_});
  return variables;
}

absl::Status PytorchPlugin::Check(const JobView& job) const {
  const TaskView* const worker = FindTask(job, worker_);
  if (!waits_for_master_ || worker == nullptr || worker_ == master_ || FindTask(job, master_) == nullptr) {
    return absl::OkStatus();
  }
  const bool waits_already = FindContainer(*worker, "initContainers", kWaitName) != nullptr;
  if (waits_already || FindContainer(*worker, "containers", kWaitName) == nullptr) return absl::OkStatus();
  return Invalid(fmt::format(
      "adds the container '{}' to the pods of the task '{}', which have an ordinary container of that name: "
      "Kubernetes refuses such pods; give the container another name",
      kWaitName, worker_));
}

std::vector<std::string> PytorchPlugin::Doubts(const JobView& job) const {
  const TaskView* const master = FindTask(job, master_);
  if (master == nullptr) {
    return {
        fmt::format("looks for its master in the task '{}', which does not exist: the plugin sets nothing in any pod; "
                    "name one with --master=",
                    master_)};
  }
  std::vector<std::string> doubts;
  if (master_ == worker_) {
    doubts.push_back(fmt::format("has the task '{}' both as master and as worker: its pods are masters", master_));
  } else if (FindTask(job, worker_) == nullptr && job.tasks.size() > 1) {
    doubts.push_back(
        fmt::format("looks for its workers in the task '{}', which does not exist: no pod but the "
                    "master's has a rank; name one with --worker=",
                    worker_));
  }
  if (master->replicas > 1) {
    doubts.push_back(
        fmt::format("has {} masters, the pods of the task '{}': all of them have rank 0", master->replicas, master_));
  }
  return doubts;
}

}  // namespace basalt::jobsvc
