#include "services/jobsvc/core/plugins/mpi/mpi_plugin.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace basalt::jobsvc {
namespace {

constexpr std::string_view kMpiPortName = "mpijob-port";
constexpr std::string_view kMpiHost = "MPI_HOST";
constexpr auto kContainers = PodEdit::Containers::kNormalAndInit;

}  // namespace

void MpiPlugin::Define(Arguments& arguments) {
  arguments.Flag("master", &master_, "The task whose pods start the others by mpirun");
  arguments.Flag("worker", &worker_, "The task on whose pods the ranks run");
  arguments.Port("port", &port_, "The port of ssh that every container exposes");
}

std::string MpiPlugin::HostsOfWorkers(const JobView& job) const {
  const TaskView* const worker = FindTask(job, worker_);
  return worker == nullptr ? std::string() : fmt::format("{}", fmt::join(HostsOf(job, *worker), ","));
}

absl::Status MpiPlugin::OnPod(PodEdit& pod) const {
  const bool is_master = pod.task().name == master_;
  // A master without workers is not changed.
  if (is_master && FindTask(pod.job(), worker_) == nullptr) return absl::OkStatus();
  const std::string hosts = is_master ? HostsOfWorkers(pod.job()) : std::string();
  if (!hosts.empty()) pod.AddEnv(kContainers, {{{"name", ToJson(kMpiHost)}, {"value", hosts}}});
  pod.ForEachContainer(kContainers,
                       [this](json::object& container) { PodEdit::AddPort(container, kMpiPortName, port_); });
  return absl::OkStatus();
}

std::vector<PodVariable> MpiPlugin::Variables(const JobView&) const {
  return {{std::string(kMpiHost), master_, kContainers}};
}

absl::Status MpiPlugin::Check(const JobView& job) const {
  return CheckVariable(kMpiHost, HostsOfWorkers(job).size(), "make the job smaller");
}

std::vector<std::string> MpiPlugin::Doubts(const JobView& job) const {
  if (FindTask(job, worker_) != nullptr) return {};
  return {
      fmt::format("looks for its workers in the task '{}', which does not exist: the master is told no hosts; name "
                  "one with --worker=",
                  worker_)};
}

}  // namespace basalt::jobsvc
