#include "services/jobsvc/core/explain/explain_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "absl/time/time.h"
#include "common/base/json.h"
#include "common/kube/text.h"
#include "services/jobsvc/core/decide/decide.h"
#include "services/jobsvc/core/events/events.h"

namespace basalt::jobsvc {

using job::v1::HistoryEntry;

std::string Ago(int64_t since_ms, int64_t now_ms) {
  return kube::FormatGoDuration(absl::Seconds(std::max<int64_t>(0, now_ms - since_ms) / 1000));
}

std::string Sentence(std::string text) {
  if (text.empty()) return text;
  const bool is_path = text.starts_with("spec.") || text.starts_with("metadata.");
  if (!is_path && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  if (text.back() != '.' && text.back() != '!' && text.back() != '?') text += '.';
  return text;
}

std::string OriginOf(const HistoryEntry& entered_by, const HistoryEntry* restarted_by) {
  if (entered_by.event().empty() || entered_by.event() == kEventOutOfSync) {
    if (entered_by.rule() == kRuleInitiated) return {};
    if (restarted_by == nullptr) return entered_by.rule();
    return fmt::format("{}: {}", entered_by.rule(), OriginOf(*restarted_by, nullptr));
  }
  if (entered_by.event() == kEventCommandIssued)
    return fmt::format("{} by {}", entered_by.action(), entered_by.subject());
  std::string origin = fmt::format("{} because of {}", entered_by.action(), entered_by.event());
  if (!entered_by.subject().empty()) origin += fmt::format(" of {}", entered_by.subject());
  if (entered_by.exit_code() != 0) origin += fmt::format(", exit code {}", entered_by.exit_code());
  if (!entered_by.pod_reason().empty()) origin += fmt::format(", {}", entered_by.pod_reason());
  if (!entered_by.rule().empty()) origin += fmt::format(" (by {})", entered_by.rule());
  return origin;
}

std::string FailureOf(const FailedPods& pods, const TaskShape& task) {
  std::vector<std::string> how;
  if (pods.exit_code != 0) how.push_back(fmt::format("exit {}", pods.exit_code));
  if (!pods.reason.empty()) how.push_back(pods.reason);
  return fmt::format("{} of {} pods of task {} failed, {}{}{}{}", pods.count, std::max(pods.count, task.replicas),
                     task.name, pods.count > 1 ? "first " : "", pods.first, how.empty() ? "" : ": ",
                     fmt::join(how, ", "));
}

std::string RestartsOf(const RestartingPods& pods) {
  std::string text = fmt::format("{} in place again and again ({}, {} {})",
                                 pods.count == 1 ? "1 pod restarts" : fmt::format("{} pods restart", pods.count),
                                 pods.reason, pods.restarts, pods.restarts == 1 ? "restart" : "restarts");
  if (pods.always) text += fmt::format("; with restartPolicy Always no pod of task {} ever finishes", pods.task);
  return text;
}

namespace {

bool HasPolicies(const kube::v1::JobSpec& spec) {
  return !spec.policies().empty() || std::any_of(spec.tasks().begin(), spec.tasks().end(),
                                                 [](const auto& task) { return !task.policies().empty(); });
}

// Returns a task that never finishes, so that counts cannot end the job. Null if there is none.
const kube::v1::TaskSpec* EndlessTask(const kube::v1::JobSpec& spec, const std::vector<TaskShape>& tasks) {
  if (spec.has_min_success()) return nullptr;
  for (size_t i = 0; i < tasks.size() && i < static_cast<size_t>(spec.tasks_size()); ++i) {
    const kube::v1::TaskSpec& task = spec.tasks(static_cast<int>(i));
    if (tasks[i].replicas > 0 && RestartsAlways(task)) return &task;
  }
  return nullptr;
}

std::string EndByCounts(const kube::v1::JobSpec& spec, const std::vector<TaskShape>& tasks) {
  int64_t total = 0;
  int64_t task_minimum = 0;
  int checked = 0;
  for (size_t i = 0; i < tasks.size() && i < static_cast<size_t>(spec.tasks_size()); ++i) {
    const kube::v1::TaskSpec& task = spec.tasks(static_cast<int>(i));
    total += tasks[i].replicas;
    task_minimum += task.has_min_available() ? task.min_available() : tasks[i].replicas;
    if (task.has_min_available() && task.min_available() > 0) ++checked;
  }
  if (spec.has_min_success()) {
    return fmt::format("it is Completed once {} succeeded, and Failed when all {} have finished with fewer.",
                       spec.min_success() == 1 ? "1 pod has" : fmt::format("{} pods have", spec.min_success()), total);
  }
  if (total == 1) {
    return spec.min_available() > 0 ? "it ends when its pod has finished: Completed if that succeeds, else Failed."
                                    : "it is Completed when its pod has finished.";
  }
  const int64_t wanted = spec.min_available();
  if (wanted <= 0) return fmt::format("it is Completed when all {} pods have finished.", total);
  const std::string_view of_each = wanted >= task_minimum && checked > 0 && tasks.size() > 1 && wanted < total
                                       ? ", and of each task its minAvailable"
                                       : "";
  return fmt::format("it ends when all {} pods have finished: Completed if {} succeed{}, else Failed.", total,
                     wanted >= total ? std::string("all") : fmt::format("at least {}", wanted), of_each);
}

}  // namespace

std::string EndOf(const kube::v1::JobSpec& spec, const std::vector<TaskShape>& tasks) {
  const bool is_empty =
      std::all_of(tasks.begin(), tasks.end(), [](const TaskShape& task) { return task.replicas <= 0; });
  if (is_empty) return "Scaled to zero, it never completes: scale it up or delete it.";
  const bool has_policies = HasPolicies(spec);
  if (const kube::v1::TaskSpec* const task = EndlessTask(spec, tasks); task != nullptr) {
    return fmt::format("It ends by {} alone: with restartPolicy Always no pod of task {} ever finishes.",
                       has_policies ? "a policy or a command" : "a command", task->name());
  }
  const std::string end = EndByCounts(spec, tasks);
  return has_policies ? "Unless a policy comes first, " + end : Sentence(end);
}

bool RestartsAlways(const kube::v1::TaskSpec& task) {
  const absl::StatusOr<json::value> parsed = ParseJson(task.template_json());
  if (!parsed.ok()) return false;
  const json::value* const spec = Find(*parsed, "spec");
  if (spec == nullptr) return false;
  const std::string_view policy = FindString(*spec, "restartPolicy");
  return policy.empty() || policy == "Always";
}

}  // namespace basalt::jobsvc
