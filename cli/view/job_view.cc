#include "cli/view/job_view.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/kube/text.h"

namespace basalt::cli {
namespace {

std::string Clock(int64_t ms) { return fmt::format("{:%H:%M:%S}.{:03}", fmt::gmtime(ms / 1000), ms % 1000); }

std::string Counts(const kube::v1::PodCounts& counts) {
  return fmt::format("{} pending, {} running, {} succeeded, {} failed{}{}", counts.pending(), counts.running(),
                     counts.succeeded(), counts.failed(),
                     counts.terminating() == 0 ? "" : fmt::format(", {} terminating", counts.terminating()),
                     counts.unknown() == 0 ? "" : fmt::format(", {} unknown", counts.unknown()));
}

// Why, in the server's words: what the job waits for, else the reason and message in its status.
std::string Why(const job::v1::Job& job) {
  if (!job.waiting_for().empty()) return job.waiting_for();
  const kube::v1::JobStatus& status = job.object().status();
  if (status.reason().empty()) return status.message();
  return status.message().empty() ? status.reason() : fmt::format("{}: {}", status.reason(), status.message());
}

}  // namespace

std::string PhaseText(kube::v1::JobPhase phase) {
  const std::string_view text = kube::JobPhaseName(phase);
  return text.empty() ? "-" : std::string(text);
}

std::string PhaseSet(std::string_view another) {
  std::vector<std::string_view> names;
  for (int phase = kube::v1::JOB_PHASE_PENDING; phase <= kube::v1::JobPhase_MAX; ++phase) {
    names.push_back(kube::JobPhaseName(static_cast<kube::v1::JobPhase>(phase)));
  }
  if (!another.empty()) names.push_back(another);
  return fmt::format("{{{}}}", fmt::join(names, ","));
}

std::string PodPhaseText(kube::v1::PodPhase phase) { return std::string(kube::PodPhaseName(phase)); }

bool IsFinished(kube::v1::JobPhase phase) {
  return phase == kube::v1::JOB_PHASE_COMPLETED || phase == kube::v1::JOB_PHASE_FAILED ||
         phase == kube::v1::JOB_PHASE_TERMINATED || phase == kube::v1::JOB_PHASE_ABORTED;
}

std::string FormatJobs(const std::vector<job::v1::Job>& jobs, bool with_namespace, int64_t now_ms, size_t width) {
  Row header = {"NAME", "PHASE", "PENDING", "RUNNING", "SUCCEEDED", "FAILED", "TOTAL", "QUEUE", "AGE", "WHY"};
  if (with_namespace) header.insert(header.begin(), "NAMESPACE");
  std::vector<Row> rows;
  for (const job::v1::Job& job : jobs) {
    const kube::v1::PodCounts& counts = job.object().status().counts();
    Row row = {job.object().meta().name(),
               PhaseText(job.object().status().phase()),
               std::to_string(counts.pending()),
               std::to_string(counts.running()),
               std::to_string(counts.succeeded()),
               std::to_string(counts.failed()),
               std::to_string(job.total_replicas()),
               job.object().spec().queue(),
               FormatAge(now_ms - job.object().meta().creation_ms()),
               Why(job)};
    if (with_namespace) row.insert(row.begin(), job.object().meta().namespace_());
    rows.push_back(std::move(row));
  }
  return FormatTable(header, rows, width);
}

std::string FormatJob(const job::v1::Job& job, int64_t now_ms, size_t width) {
  const kube::v1::Job& object = job.object();
  std::string text = fmt::format(
      "Name:       {}\nNamespace:  {}\nPhase:      {}\nQueue:      {}\nPodGroup:   {}\nPods:       {}, {} wanted\n"
      "Version:    {}\nRetries:    {}\nAge:        {}\n",
      object.meta().name(), object.meta().namespace_(), PhaseText(object.status().phase()), object.spec().queue(),
      job.pod_group_phase().empty() ? "-" : job.pod_group_phase(), Counts(object.status().counts()),
      job.total_replicas(), object.status().version(), object.status().retry_count(),
      FormatAge(now_ms - object.meta().creation_ms()));
  if (const std::string why = Why(job); !why.empty()) text += fmt::format("Why:        {}\n", why);
  if (job.pods_size() == 0) return text;
  std::vector<Row> rows;
  for (const job::v1::PodSummary& pod : job.pods()) {
    rows.push_back({pod.name(), pod.task(), pod.terminating() ? "Terminating" : PodPhaseText(pod.phase()),
                    std::to_string(pod.exit_code()), std::to_string(pod.restarts()), pod.node_name(),
                    FormatAge(now_ms - pod.creation_ms()), pod.reason()});
  }
  return text + "\n" + FormatTable({"POD", "TASK", "PHASE", "EXIT", "RESTARTS", "NODE", "AGE", "REASON"}, rows, width);
}

std::string FormatHistory(const job::v1::JobHistory& history, size_t width) {
  std::vector<Row> rows;
  for (const job::v1::HistoryEntry& entry : history.entries()) {
    std::string seen = entry.event();
    if (!entry.subject().empty()) seen += " " + entry.subject();
    if (entry.exit_code() != 0) seen += fmt::format(" (exit {})", entry.exit_code());
    rows.push_back({std::to_string(entry.sequence()), Clock(entry.time_ms()),
                    fmt::format("{} → {}", PhaseText(entry.from_phase()), PhaseText(entry.to_phase())), seen,
                    entry.rule(), entry.action(), Counts(entry.counts()),
                    entry.committed() ? entry.outcome() : "not acknowledged"});
  }
  return FormatTable({"#", "TIME", "PHASE", "SEEN", "RULE", "ACTION", "PODS", "OUTCOME"}, rows, width);
}

std::string FormatChange(const job::v1::Job& job) {
  const kube::v1::Job& object = job.object();
  const std::string why = Why(job);
  return fmt::format("{}/{}  {}  {} of {}{}{}\n", object.meta().namespace_(), object.meta().name(),
                     PhaseText(object.status().phase()), Counts(object.status().counts()), job.total_replicas(),
                     why.empty() ? "" : "  ", why);
}

}  // namespace basalt::cli
