#include "cli/view/job_detail.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "cli/view/job_view.h"
#include "cli/view/table.h"
#include "common/base/excerpt.h"
#include "common/kube/text.h"
#include "common/kube/timestamp.h"

namespace basalt::cli {
namespace {

using kube::v1::JobSpec;
using kube::v1::JobStatus;
using kube::v1::TaskSpec;

// Lines like "Name:         j". Fields without a value are left out.
class Fields {
 public:
  explicit Fields(const Look& look) : look_(look) {}
  void Add(std::string_view name, std::string_view value, Colour colour = Colour::kPlain) {
    if (value.empty()) return;
    const size_t room = look_.width == 0 ? 0 : std::max(look_.width, kIndent + kLeastRoom);
    const std::string words = Paragraph(Printable(value), room, kIndent);
    const std::string_view after = std::string_view(words).substr(kIndent, words.size() - kIndent - 1);
    text_ += fmt::format("{:<{}}{}\n", name.empty() ? "" : fmt::format("{}:", name), kIndent,
                         look_.colours ? Paint(after, colour) : after);
  }
  void AddAll(std::string_view name, const std::vector<std::string>& values) {
    for (size_t i = 0; i < values.size(); ++i) Add(i == 0 ? name : "", values[i]);
  }
  std::string Take() { return std::move(text_); }

 private:
  static constexpr size_t kIndent = 14;
  static constexpr size_t kLeastRoom = 20;  // Least width of the values. A narrower terminal wraps lines itself.
  const Look& look_;
  std::string text_;
};

std::string PolicyText(const kube::v1::LifecyclePolicy& policy) {
  return fmt::format("{} → {}{}",
                     policy.has_exit_code() ? fmt::format("exit code {}", policy.exit_code())
                                            : fmt::format("{}", fmt::join(policy.events(), " or ")),
                     policy.action(),
                     policy.has_timeout_ms()
                         ? fmt::format(" after {}", kube::FormatGoDuration(absl::Milliseconds(policy.timeout_ms())))
                         : "");
}

std::vector<std::string> Policies(const JobSpec& spec) {
  std::vector<std::string> policies;
  for (const auto& policy : spec.policies()) policies.push_back(PolicyText(policy));
  for (const TaskSpec& task : spec.tasks()) {
    for (const auto& policy : task.policies()) {
      policies.push_back(fmt::format("task {}: {}", task.name(), PolicyText(policy)));
    }
  }
  return policies;
}

std::string Plugins(const JobSpec& spec) {
  std::vector<std::string> plugins;
  for (const auto& plugin : spec.plugins()) plugins.push_back(plugin.name());
  return fmt::format("{}", fmt::join(plugins, ", "));
}

std::vector<std::string> Volumes(const JobSpec& spec) {
  std::vector<std::string> volumes;
  for (const auto& volume : spec.volumes()) {
    volumes.push_back(fmt::format("{} from {}", volume.mount_path(),
                                  volume.volume_claim_name().empty()
                                      ? "a claim of the job's own"
                                      : fmt::format("claim {}", volume.volume_claim_name())));
  }
  return volumes;
}

std::string Gang(const JobSpec& spec, int32_t total) {
  return fmt::format("{} of {} pods{}", spec.min_available(), total,
                     spec.has_min_success() ? fmt::format(", {} successes suffice", spec.min_success()) : "");
}

std::string Summary(const job::v1::Job& job, int64_t now_ms, const Look& look) {
  const kube::v1::Job& object = job.object();
  const JobSpec& spec = object.spec();
  const JobStatus& status = object.status();
  Fields fields(look);
  fields.Add("Name", object.meta().name());
  fields.Add("Namespace", object.meta().namespace_());
  fields.Add("UID", object.meta().uid());
  fields.Add("Phase", PhaseText(status.phase()), ColourOf(status.phase()));
  fields.Add("Waiting for", job.waiting_for());
  fields.Add("Reason", status.reason().empty()    ? status.message()
                       : status.message().empty() ? status.reason()
                                                  : fmt::format("{}: {}", status.reason(), status.message()));
  fields.Add("Pods", fmt::format("{}, {} wanted", CountsText(status.counts()), job.total_replicas()));
  fields.Add("Gang", Gang(spec, job.total_replicas()));
  fields.Add("Restarts", fmt::format("{} of {}, version {}", status.retry_count(), spec.max_retry(), status.version()));
  fields.Add("Queue", spec.queue());
  fields.Add("PodGroup", job.pod_group_phase());
  fields.Add("Scheduler", spec.scheduler_name());
  fields.Add("Priority", spec.priority_class_name());
  fields.Add("Plugins", Plugins(spec));
  fields.AddAll("Policies", Policies(spec));
  fields.AddAll("Volumes", Volumes(spec));
  if (spec.has_ttl_seconds_after_finished()) {
    fields.Add("Deleted",
               fmt::format("{} after its end", FormatAge(int64_t{spec.ttl_seconds_after_finished()} * 1000)));
  }
  fields.Add("Age", FormatAge(now_ms - object.meta().creation_ms()));
  return fields.Take();
}

std::string Tasks(const kube::v1::Job& object, const Look& look) {
  std::map<std::string_view, const kube::v1::PodCounts*> counts;
  for (const auto& task : object.status().task_status_count()) counts[task.task()] = &task.counts();
  static const auto& kNone = *new kube::v1::PodCounts();
  std::vector<Row> rows;
  for (const TaskSpec& task : object.spec().tasks()) {
    const auto found = counts.find(task.name());
    const kube::v1::PodCounts& seen = found == counts.end() ? kNone : *found->second;
    std::string after = fmt::format(
        "{}", fmt::join(task.depends_on().names(), task.depends_on().iteration() == "any" ? " or " : " and "));
    rows.push_back({task.name(), std::to_string(task.replicas()),
                    std::to_string(task.has_min_available() ? task.min_available() : task.replicas()),
                    std::to_string(seen.pending()), std::to_string(seen.running()), std::to_string(seen.succeeded()),
                    Cell(std::to_string(seen.failed()), seen.failed() > 0 ? Colour::kRed : Colour::kPlain),
                    std::move(after)});
  }
  if (rows.empty()) return "";
  return "\n" +
         FormatTable({"TASK", "WANTED", "MIN", "PENDING", "RUNNING", "SUCCEEDED", "FAILED", "AFTER"}, rows, look);
}

std::string Pods(const job::v1::Job& job, int64_t now_ms, const Look& look) {
  std::vector<Row> rows;
  for (const job::v1::PodSummary& pod : job.pods()) {
    const bool finished = pod.phase() == kube::v1::POD_PHASE_SUCCEEDED || pod.phase() == kube::v1::POD_PHASE_FAILED;
    rows.push_back({pod.name(), pod.task(),
                    pod.terminating() ? Cell("Terminating", Colour::kYellow)
                                      : Cell(PodPhaseText(pod.phase()), ColourOf(pod.phase())),
                    finished ? std::to_string(pod.exit_code()) : "", std::to_string(pod.restarts()), pod.node_name(),
                    FormatAge(now_ms - kube::ToMs(pod.create_time())), pod.reason()});
  }
  if (rows.empty()) return "";
  return "\n" + FormatTable({"POD", "TASK", Whole("PHASE"), "EXIT", "RESTARTS", "NODE", "AGE", "REASON"}, rows, look);
}

std::string Conditions(const JobStatus& status, int64_t now_ms, const Look& look) {
  std::vector<Row> rows;
  for (const kube::v1::JobCondition& condition : status.conditions()) {
    rows.push_back({Cell(PhaseText(condition.phase()), ColourOf(condition.phase())),
                    fmt::format("{} ago", FormatAge(now_ms - condition.last_transition_ms()))});
  }
  if (rows.empty()) return "";
  return "\n" + FormatTable({Whole("CONDITION"), "LAST CHANGE"}, rows, look);
}

}  // namespace

std::string FormatJob(const job::v1::Job& job, const job::v1::JobHistory& history, int64_t now_ms, const Look& look) {
  std::string text = Summary(job, now_ms, look) + Tasks(job.object(), look) + Pods(job, now_ms, look) +
                     Conditions(job.object().status(), now_ms, look);
  if (history.entries_size() == 0) return text;
  const int first = std::max(0, history.entries_size() - kRecentDecisions);
  job::v1::JobHistory recent;
  for (int i = first; i < history.entries_size(); ++i) *recent.add_entries() = history.entries(i);
  text += "\n" + FormatDecisions(recent, look);
  if (first > 0) {
    text += Paragraph(fmt::format("{} earlier ones: basaltctl job history {} -n {}", first, job.object().meta().name(),
                                  job.object().meta().namespace_()),
                      look.width, 0);
  }
  return text;
}

}  // namespace basalt::cli
