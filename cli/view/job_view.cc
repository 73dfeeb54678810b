#include "cli/view/job_view.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_split.h"
#include "cli/view/table.h"
#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/kube/text.h"
#include "common/kube/timestamp.h"

namespace basalt::cli {
namespace {

constexpr size_t kIndent = 4;

std::string ShortClock(int64_t ms) { return fmt::format("{:%m-%d %H:%M:%S}", fmt::gmtime(ms / 1000)); }

Cell TransitionCell(const job::v1::HistoryEntry& entry) {
  return {fmt::format("{} → {}", PhaseText(entry.from_phase()), PhaseText(entry.to_phase())),
          entry.from_phase() == entry.to_phase() ? Colour::kPlain : ColourOf(entry.to_phase())};
}

// Returns the event of a decision: "PodFailed pod j-worker-0 (Failed, exit 137, OOMKilled)".
std::string Seen(const job::v1::HistoryEntry& entry) {
  std::vector<std::string> details;
  if (entry.pod_phase() != kube::v1::POD_PHASE_UNSPECIFIED) details.push_back(PodPhaseText(entry.pod_phase()));
  if (entry.exit_code() != 0) details.push_back(fmt::format("exit {}", entry.exit_code()));
  if (!entry.pod_reason().empty()) details.push_back(entry.pod_reason());
  return fmt::format("{}{}{}{}", entry.event(), entry.subject().empty() ? "" : " ", entry.subject(),
                     details.empty() ? "" : fmt::format(" ({})", fmt::join(details, ", ")));
}

std::string Outcome(const job::v1::HistoryEntry& entry) {
  return entry.committed() ? entry.outcome() : "not acknowledged";
}

std::string Reason(const kube::v1::JobStatus& status) {
  if (status.reason().empty()) return status.message();
  return status.message().empty() ? status.reason() : fmt::format("{}: {}", status.reason(), status.message());
}

// Returns why the job is in its phase, by the server's texts: the problem in its status, else what the job waits for,
// else the status reason, such as a warning about the spec.
std::string Why(const job::v1::Job& job) {
  const kube::v1::JobStatus& status = job.object().status();
  const bool in_its_way = !status.reason().empty() && status.reason() != "SpecWarning" && !IsFinished(status.phase());
  return in_its_way || job.waiting_for().empty() ? Reason(status) : job.waiting_for();
}

// How many columns the table of jobs has.
enum class RowSize {
  kFull,   // Each count of pods has a column.
  kShort,  // All counts of pods are in one column.
  kLeast,  // Only name, phase, counts and reason.
};

Row JobHeader(bool with_namespace, RowSize size) {
  Row header;
  if (with_namespace && size != RowSize::kLeast) header.emplace_back("NAMESPACE");
  header.insert(header.end(), {"NAME", Whole("PHASE")});
  if (size == RowSize::kFull) {
    header.insert(header.end(), {"PENDING", "RUNNING", "SUCCEEDED", "FAILED"});
  } else {
    header.push_back(Whole("P/R/S/F"));
  }
  if (size != RowSize::kLeast) header.insert(header.end(), {"TOTAL", "QUEUE", "AGE"});
  header.emplace_back("WHY");
  return header;
}

Row JobRow(const job::v1::Job& job, bool with_namespace, RowSize size, int64_t now_ms) {
  const kube::v1::Job& object = job.object();
  const kube::v1::ObjectMeta& meta = object.meta();
  const kube::v1::PodCounts& counts = object.status().counts();
  Row row;
  if (with_namespace && size != RowSize::kLeast) row.emplace_back(meta.namespace_());
  row.emplace_back(with_namespace && size == RowSize::kLeast ? meta.namespace_() + "/" + meta.name() : meta.name());
  row.emplace_back(PhaseText(object.status().phase()), ColourOf(object.status().phase()));
  const int32_t numbers[] = {counts.pending(), counts.running(), counts.succeeded(), counts.failed()};
  if (size == RowSize::kFull) {
    for (const int32_t number : numbers) row.emplace_back(std::to_string(number));
  } else {
    row.emplace_back(fmt::format("{}", fmt::join(numbers, "/")));
  }
  if (size != RowSize::kLeast) {
    row.emplace_back(std::to_string(job.total_replicas()));
    row.emplace_back(object.spec().queue());
    row.emplace_back(FormatAge(now_ms - meta.creation_ms()));
  }
  row.emplace_back(Why(job));
  return row;
}

enum class Column { kNumber, kTime, kShortTime, kPhase, kDecision, kSeen, kRule, kAction, kPods, kOutcome };

std::string_view HeaderOf(Column column) {
  static constexpr std::string_view kHeaders[] = {"#",    "TIME", "TIME",   "PHASE", "DECISION",
                                                  "SEEN", "RULE", "ACTION", "PODS",  "OUTCOME"};
  return kHeaders[static_cast<size_t>(column)];
}

Cell CellOf(const job::v1::HistoryEntry& entry, Column column) {
  switch (column) {
    case Column::kNumber:
      return std::to_string(entry.sequence());
    case Column::kTime:
      return FormatTime(kube::ToMs(entry.time()));
    case Column::kShortTime:
      return ShortClock(kube::ToMs(entry.time()));
    case Column::kPhase:
    case Column::kDecision:
      return TransitionCell(entry);
    case Column::kSeen:
      return Seen(entry);
    case Column::kRule:
      return entry.rule();
    case Column::kAction:
      return entry.action();
    case Column::kPods:
      return CountsText(entry.counts());
    case Column::kOutcome:
      return Outcome(entry);
  }
  return {};
}

struct Table {
  Row header;
  std::vector<Row> rows;
};

Table TableOf(const job::v1::JobHistory& history, const std::vector<Column>& columns) {
  Table table;
  for (const Column column : columns) table.header.emplace_back(std::string(HeaderOf(column)));
  for (const job::v1::HistoryEntry& entry : history.entries()) {
    Row& row = table.rows.emplace_back();
    for (const Column column : columns) row.push_back(CellOf(entry, column));
  }
  return table;
}

std::string RuleAndOutcome(const job::v1::HistoryEntry& entry, size_t width) {
  const std::string outcome = Outcome(entry);
  return Paragraph(Printable(entry.rule() + (entry.rule().empty() || outcome.empty() ? "" : ": ") + outcome), width,
                   kIndent);
}

// Formats each decision in several lines, uncut. The event stands in the first line if it fits.
std::string FormatInLines(const job::v1::JobHistory& history, Column move, const Look& look) {
  Table table = TableOf(history, {Column::kShortTime, move});
  const size_t used = TableWidth(FormatTable(table.header, table.rows)) + kGap;
  std::string text;
  if (used + kLeastLast <= look.width) {
    table = TableOf(history, {Column::kShortTime, move, Column::kSeen});
    std::vector<std::string> more = {Paragraph("RULE: OUTCOME", look.width, kIndent)};
    for (int i = 0; i < history.entries_size(); ++i) {
      Cell& seen = table.rows[static_cast<size_t>(i)].back();
      std::string below;
      if (used + TableWidth(seen.text) > look.width) {
        below = Paragraph(Printable(std::exchange(seen.text, "")), look.width, kIndent);
      }
      more.push_back(below + RuleAndOutcome(history.entries(i), look.width));
    }
    const std::vector<std::string> lines =
        absl::StrSplit(FormatTable(table.header, table.rows, {.colours = look.colours}), '\n');
    for (size_t i = 0; i < more.size(); ++i) text += lines[i] + "\n" + more[i];
    return text;
  }
  for (const job::v1::HistoryEntry& entry : history.entries()) {
    const std::string time = ShortClock(kube::ToMs(entry.time()));
    const Cell moved = TransitionCell(entry);
    const bool in_one = TableWidth(time) + 2 + TableWidth(moved.text) <= look.width;
    text += fmt::format("{}{}{}\n", time, in_one ? "  " : "\n  ",
                        look.colours ? Paint(moved.text, moved.colour) : moved.text);
    text += Paragraph(Printable(Seen(entry)), look.width, kIndent) + RuleAndOutcome(entry, look.width);
  }
  return text;
}

// Formats decisions as a table with the first of these sets of columns that fits, else in lines. `move` is the column
// of the transition, which each set has.
std::string FormatEntries(const job::v1::JobHistory& history, const std::vector<std::vector<Column>>& choices,
                          Column move, const Look& look) {
  for (const std::vector<Column>& columns : choices) {
    const Table table = TableOf(history, columns);
    if (Fits(table.header, table.rows, look)) return FormatTable(table.header, table.rows, look);
  }
  return FormatInLines(history, move, look);
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

std::string FormatJobs(const std::vector<const job::v1::Job*>& jobs, bool with_namespace, int64_t now_ms,
                       const Look& look) {
  Row header;
  std::vector<Row> rows;
  for (const RowSize size : {RowSize::kFull, RowSize::kShort, RowSize::kLeast}) {
    header = JobHeader(with_namespace, size);
    rows.clear();
    for (const job::v1::Job* job : jobs) rows.push_back(JobRow(*job, with_namespace, size, now_ms));
    if (Fits(header, rows, look)) break;
  }
  return FormatTable(header, rows, look);
}

std::string FormatHistory(const job::v1::JobHistory& history, const Look& look) {
  using enum Column;
  std::string text = FormatEntries(history,
                                   {{kNumber, kTime, kPhase, kSeen, kRule, kAction, kPods, kOutcome},
                                    {kNumber, kShortTime, kPhase, kSeen, kRule, kAction, kPods, kOutcome},
                                    {kNumber, kShortTime, kPhase, kSeen, kRule, kPods, kOutcome},
                                    {kNumber, kShortTime, kPhase, kSeen, kRule, kOutcome}},
                                   kPhase, look);
  if (history.has_gone_time()) text += fmt::format("Gone since {}\n", ShortClock(kube::ToMs(history.gone_time())));
  return text;
}

// The columns go in the order of their use: the action first, then the rule, since the decision and its outcome state
// nearly the same.
std::string FormatDecisions(const job::v1::JobHistory& history, const Look& look) {
  using enum Column;
  return FormatEntries(history,
                       {{kTime, kDecision, kSeen, kRule, kAction, kOutcome},
                        {kShortTime, kDecision, kSeen, kRule, kAction, kOutcome},
                        {kShortTime, kDecision, kSeen, kRule, kOutcome},
                        {kShortTime, kDecision, kSeen, kOutcome}},
                       kDecision, look);
}

std::string FormatGap(const job::v1::JobHistory& history, std::string_view job) {
  if (history.entries().empty()) {
    return fmt::format(
        "No decisions about job {} are kept: none has been taken yet, or they were lost with their disk\n", job);
  }
  // Sequences number the status writes, and not every status write is a decision: so only the first can show a gap.
  const int64_t first = history.entries(0).sequence();
  return first <= 1 ? "" : fmt::format("Nothing that may have been decided before #{} is kept\n", first);
}

std::string FormatWarnings(std::string_view source, const job::v1::Job& job) {
  std::string lines;
  for (const std::string& warning : job.warnings())
    lines += Printable(fmt::format("warning: {}: {}", source, warning)) + "\n";
  return lines;
}

std::string FormatChange(const job::v1::Job& job) {
  const kube::v1::Job& object = job.object();
  const std::string why = Why(job);
  return Printable(fmt::format("{}/{}  {}  {} of {}{}{}", object.meta().namespace_(), object.meta().name(),
                               PhaseText(object.status().phase()), CountsText(object.status().counts()),
                               job.total_replicas(), why.empty() ? "" : "  ", why)) +
         "\n";
}

}  // namespace basalt::cli
