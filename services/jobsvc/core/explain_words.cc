#include "services/jobsvc/core/explain_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "absl/time/time.h"
#include "common/base/json.h"
#include "common/kube/text.h"

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
  if (entered_by.event().empty() || entered_by.event() == "OutOfSync") {
    if (restarted_by == nullptr) return entered_by.rule();
    return fmt::format("{}: {}", entered_by.rule(), OriginOf(*restarted_by, nullptr));
  }
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

bool RestartsAlways(const kube::v1::TaskSpec& task) {
  const absl::StatusOr<json::value> parsed = ParseJson(task.template_json());
  if (!parsed.ok()) return false;
  const json::value* const spec = Find(*parsed, "spec");
  if (spec == nullptr) return false;
  const std::string_view policy = FindString(*spec, "restartPolicy");
  return policy.empty() || policy == "Always";
}

}  // namespace basalt::jobsvc
