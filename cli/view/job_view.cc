#include "cli/view/job_view.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <optional>

#include "cli/view/table.h"
#include "common/base/status.h"
#include "common/kube/text.h"

namespace basalt::cli {
namespace {

std::string Clock(int64_t ms) { return fmt::format("{:%H:%M:%S}.{:03}", fmt::gmtime(ms / 1000), ms % 1000); }

Cell Move(const job::v1::HistoryEntry& entry) {
  return {fmt::format("{} → {}", PhaseText(entry.from_phase()), PhaseText(entry.to_phase())),
          entry.from_phase() == entry.to_phase() ? Colour::kPlain : ColourOf(entry.to_phase())};
}

std::string Seen(const job::v1::HistoryEntry& entry) {
  return fmt::format("{}{}{}{}", entry.event(), entry.subject().empty() ? "" : " ", entry.subject(),
                     entry.exit_code() == 0 ? "" : fmt::format(" (exit {})", entry.exit_code()));
}

std::string Outcome(const job::v1::HistoryEntry& entry) {
  return entry.committed() ? entry.outcome() : "not acknowledged";
}

std::string Reason(const kube::v1::JobStatus& status) {
  if (status.reason().empty()) return status.message();
  return status.message().empty() ? status.reason() : fmt::format("{}: {}", status.reason(), status.message());
}

// Why, in the server's words: what stands in its way, else what it waits for, else what is odd about it.
std::string Why(const job::v1::Job& job) {
  const kube::v1::JobStatus& status = job.object().status();
  const bool in_its_way = !status.reason().empty() && status.reason() != "SpecWarning" && !IsFinished(status.phase());
  return in_its_way || job.waiting_for().empty() ? Reason(status) : job.waiting_for();
}

// The counts of pods in a column each, or `together` in one.
Row JobRow(const job::v1::Job& job, bool with_namespace, bool together, int64_t now_ms) {
  const kube::v1::Job& object = job.object();
  const kube::v1::PodCounts& counts = object.status().counts();
  Row row;
  if (with_namespace) row.emplace_back(object.meta().namespace_());
  row.emplace_back(object.meta().name());
  row.emplace_back(PhaseText(object.status().phase()), ColourOf(object.status().phase()));
  const int32_t numbers[] = {counts.pending(), counts.running(), counts.succeeded(), counts.failed()};
  if (together) row.emplace_back(fmt::format("{}", fmt::join(numbers, "/")));
  for (size_t i = 0; i < std::size(numbers) && !together; ++i) row.emplace_back(std::to_string(numbers[i]));
  row.emplace_back(std::to_string(job.total_replicas()));
  row.emplace_back(object.spec().queue());
  row.emplace_back(FormatAge(now_ms - object.meta().creation_ms()));
  row.emplace_back(Why(job));
  return row;
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

absl::StatusOr<std::vector<kube::v1::JobPhase>> ParsePhases(std::string_view option,
                                                            const std::vector<std::string>& names,
                                                            std::string_view another) {
  std::vector<kube::v1::JobPhase> phases;
  for (const std::string& name : names) {
    if (!another.empty() && name == another) continue;
    const std::optional<kube::v1::JobPhase> phase = kube::ParseJobPhase(name);
    if (!phase || name.empty()) {
      return MakeStatus(
          absl::StatusCode::kInvalidArgument,
          fmt::format("{}: '{}' is no phase of a job; use one or several of {}", option, name, PhaseSet(another)));
    }
    phases.push_back(*phase);
  }
  return phases;
}

std::string CountsText(const kube::v1::PodCounts& counts) {
  return fmt::format("{} pending, {} running, {} succeeded, {} failed{}{}", counts.pending(), counts.running(),
                     counts.succeeded(), counts.failed(),
                     counts.terminating() == 0 ? "" : fmt::format(", {} terminating", counts.terminating()),
                     counts.unknown() == 0 ? "" : fmt::format(", {} unknown", counts.unknown()));
}

std::string PodPhaseText(kube::v1::PodPhase phase) { return std::string(kube::PodPhaseName(phase)); }

bool IsFinished(kube::v1::JobPhase phase) {
  return phase == kube::v1::JOB_PHASE_COMPLETED || phase == kube::v1::JOB_PHASE_FAILED ||
         phase == kube::v1::JOB_PHASE_TERMINATED || phase == kube::v1::JOB_PHASE_ABORTED;
}

std::string FormatJobs(const std::vector<job::v1::Job>& jobs, bool with_namespace, int64_t now_ms, const Look& look) {
  Row header = {"NAME", "PHASE", "PENDING", "RUNNING", "SUCCEEDED", "FAILED", "TOTAL", "QUEUE", "AGE", "WHY"};
  Row narrow = {"NAME", "PHASE", "P/R/S/F", "TOTAL", "QUEUE", "AGE", "WHY"};
  for (Row* each : {&header, &narrow}) {
    if (with_namespace) each->insert(each->begin(), "NAMESPACE");
  }
  const auto rows_of = [&](bool together) {
    std::vector<Row> rows;
    for (const job::v1::Job& job : jobs) rows.push_back(JobRow(job, with_namespace, together, now_ms));
    return rows;
  };
  const std::vector<Row> rows = rows_of(/*together=*/false);
  if (Fits(header, rows, look)) return FormatTable(header, rows, look);
  return FormatTable(narrow, rows_of(/*together=*/true), look);
}

std::string FormatHistory(const job::v1::JobHistory& history, const Look& look) {
  std::vector<Row> rows;
  for (const job::v1::HistoryEntry& entry : history.entries()) {
    rows.push_back({std::to_string(entry.sequence()), Clock(entry.time_ms()), Move(entry), Seen(entry), entry.rule(),
                    entry.action(), CountsText(entry.counts()), Outcome(entry)});
  }
  return FormatTable({"#", "TIME", "PHASE", "SEEN", "RULE", "ACTION", "PODS", "OUTCOME"}, rows, look);
}

std::string FormatDecisions(const job::v1::JobHistory& history, const Look& look) {
  Row header = {"TIME", "DECISION", "SEEN", "RULE", "ACTION", "OUTCOME"};
  std::vector<Row> rows;
  for (const job::v1::HistoryEntry& entry : history.entries()) {
    rows.push_back({Clock(entry.time_ms()), Move(entry), Seen(entry), entry.rule(), entry.action(), Outcome(entry)});
  }
  // The decision and its outcome say nearly as much as the action, and then as the rule.
  for (const ptrdiff_t column : {4, 3}) {
    if (Fits(header, rows, look)) break;
    header.erase(header.begin() + column);
    for (Row& row : rows) row.erase(row.begin() + column);
  }
  return FormatTable(header, rows, look);
}

std::string FormatWarnings(std::string_view source, const job::v1::Job& job) {
  std::string lines;
  for (const std::string& warning : job.warnings())
    lines += fmt::format("warning: {}: {}\n", source, Printable(warning));
  return lines;
}

std::string FormatChange(const job::v1::Job& job) {
  const kube::v1::Job& object = job.object();
  const std::string why = Why(job);
  return fmt::format("{}/{}  {}  {} of {}{}{}\n", object.meta().namespace_(), object.meta().name(),
                     PhaseText(object.status().phase()), CountsText(object.status().counts()), job.total_replicas(),
                     why.empty() ? "" : "  ", why);
}

}  // namespace basalt::cli
