#include "services/jobsvc/core/plugins/hcclrank/hcclrank_plugin.h"

#include <fmt/format.h>

namespace basalt::jobsvc {
namespace {

// This annotation of a pod has the rank that the plugin hcclrank gives to the pod.
constexpr std::string_view kRankIndex = "hccl/rankIndex";

// Returns the rank of the first container that has one, unchanged: a text, or a mark. Empty if no container has one.
std::string_view RankInEnvironment(PodEdit& pod) {
  std::string_view rank;
  pod.ForEachContainer(PodEdit::Containers::kNormal, [&rank](json::object& container) {
    const json::value* const env = container.if_contains("env");
    if (env == nullptr || !env->is_array()) return;
    for (const json::value& variable : env->get_array()) {
      if (rank.empty() && FindString(variable, "name") == "RANK") rank = FindString(variable, "value");
    }
  });
  return rank;
}

}  // namespace

void HcclrankPlugin::Define(Arguments& arguments) {
  arguments.Flag("master", &master_, "The task of the masters, which have the first ranks");
  arguments.Flag("worker", &worker_, "The task of the workers, which have the ranks behind them");
}

absl::Status HcclrankPlugin::OnPod(PodEdit& pod) const {
  const json::value* const given = pod.metadata().if_contains("annotations");
  if (given != nullptr && !FindString(*given, kRankIndex).empty()) return absl::OkStatus();
  std::string rank(RankInEnvironment(pod));
  if (rank.empty() && pod.task().name == master_) {
    rank = pod.Index();
  } else if (rank.empty() && pod.task().name == worker_) {
    const int64_t first = ReplicasOf(pod.job(), master_);
    rank = pod.PerPod([first](int32_t index) { return fmt::format("{}", first + index); });
  }
  if (!rank.empty()) ObjectMember(pod.metadata(), "annotations")[ToJson(kRankIndex)] = rank;
  return absl::OkStatus();
}

std::vector<std::string> HcclrankPlugin::Doubts(const JobView& job) const {
  if (FindTask(job, master_) != nullptr || FindTask(job, worker_) != nullptr) return {};
  return {fmt::format(
      "looks for the tasks '{}' and '{}', of which none exists: only pods whose template has a rank of its own "
      "have one; name them with --master= and --worker=",
      master_, worker_)};
}

}  // namespace basalt::jobsvc
