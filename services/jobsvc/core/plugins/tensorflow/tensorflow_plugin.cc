#include "services/jobsvc/core/plugins/tensorflow/tensorflow_plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace basalt::jobsvc {
namespace {

constexpr std::string_view kTfConfig = "TF_CONFIG";
constexpr std::string_view kLongestIndex = "2147483647";

// A pod that computes alone needs no cluster.
bool IsAlone(const JobView& job) { return job.tasks.size() == 1 && job.tasks.front().replicas == 1; }

}  // namespace

void TensorflowPlugin::Define(Arguments& arguments) {
  arguments.Flag("ps", &ps_, "The task of the parameter servers");
  arguments.Flag("worker", &worker_, "The task of the workers");
  arguments.Flag("chief", &chief_, "The task of the chief");
  arguments.Flag("evaluator", &evaluator_, "The task of the evaluator");
  arguments.Port("port", &port_, "The port on which each of them listens");
}

std::string_view TensorflowPlugin::TypeOf(std::string_view task) const {
  if (task == chief_) return "chief";
  if (task == worker_) return "worker";
  if (task == ps_) return "ps";
  if (task == evaluator_) return "evaluator";
  return task;
}

json::object TensorflowPlugin::ClusterOf(const JobView& job) const {
  const std::pair<std::string_view, const std::string&> roles[] = {
      {"ps", ps_}, {"worker", worker_}, {"chief", chief_}, {"evaluator", evaluator_}};
  json::object cluster;
  std::set<std::string_view> listed;  // A task with two roles is listed under the first one.
  for (const auto& [type, name] : roles) {
    const TaskView* const task = FindTask(job, name);
    if (task == nullptr || task->replicas <= 0 || !listed.insert(name).second) continue;
    json::array addresses;
    for (int32_t i = 0; i < task->replicas; ++i) {
      addresses.push_back(json::string(fmt::format("{}:{}", HostOf(job, *task, i), port_)));
    }
    cluster[ToJson(type)] = std::move(addresses);
  }
  return cluster;
}

std::string TensorflowPlugin::Config(std::string_view cluster, const TaskView& task, std::string_view index) const {
  return fmt::format(R"({{"cluster":{},"task":{{"type":{},"index":{}}}}})", cluster,
                     ToText(json::value(ToJson(TypeOf(task.name)))), index);
}

absl::Status TensorflowPlugin::OnPod(PodEdit& pod) const {
  if (IsAlone(pod.job())) return absl::OkStatus();
  const std::string config = Config(ToText(ClusterOf(pod.job())), pod.task(), pod.Index());
  pod.AddEnv(PodEdit::Containers::kNormal, {{{"name", ToJson(kTfConfig)}, {"value", config}}});
  return absl::OkStatus();
}

std::vector<PodVariable> TensorflowPlugin::Variables(const JobView& job) const {
  if (IsAlone(job)) return {};
  return {{std::string(kTfConfig)}};
}

absl::Status TensorflowPlugin::Check(const JobView& job) const {
  if (IsAlone(job)) return absl::OkStatus();
  const std::string cluster = ToText(ClusterOf(job));
  for (const TaskView& task : job.tasks) {
    const size_t rest = Config("", task, kLongestIndex).size();
    absl::Status fits = CheckVariable(kTfConfig, cluster.size() + rest, "make the job smaller");
    if (!fits.ok()) return fits;
  }
  return absl::OkStatus();
}

std::vector<std::string> TensorflowPlugin::Doubts(const JobView& job) const {
  const bool has_any = std::any_of(job.tasks.begin(), job.tasks.end(), [this](const TaskView& task) {
    return task.name == ps_ || task.name == worker_ || task.name == chief_ || task.name == evaluator_;
  });
  if (has_any || IsAlone(job)) return {};
  return {
      fmt::format("looks for the tasks '{}', '{}', '{}' and '{}', of which none exists: the cluster is empty; name "
                  "them with --ps=, --worker=, --chief= and --evaluator=",
                  ps_, worker_, chief_, evaluator_)};
}

}  // namespace basalt::jobsvc
