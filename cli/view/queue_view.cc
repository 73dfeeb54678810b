#include "cli/view/queue_view.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cli/view/queue_tree.h"
#include "cli/view/table.h"
#include "common/base/excerpt.h"
#include "common/kube/object_key.h"
#include "common/kube/timestamp.h"

namespace basalt::cli {
namespace {

using queue::v1::QueueHistoryEntry;

constexpr int kRecentEntries = 5;  // Number of history entries that are printed with one queue.

std::string QueueClock(int64_t ms) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:03}", fmt::gmtime(ms / 1000), ms % 1000);
}

std::string StateAndEndOf(const kube::v1::Queue& queue) {
  return StateText(queue.state()) + (queue.meta().deletion_ms() == 0 ? "" : ", being deleted");
}

std::string EntryKindText(QueueHistoryEntry::Kind kind) {
  switch (kind) {
    case QueueHistoryEntry::KIND_CREATED:
      return "created";
    case QueueHistoryEntry::KIND_PARENT_SET:
      return "parent set to root";
    case QueueHistoryEntry::KIND_STATE_CHANGED:
      return "state changed";
    case QueueHistoryEntry::KIND_STATE_OBSERVED:
      return "state changed by others";
    case QueueHistoryEntry::KIND_REFUSED:
      return "refused";
    case QueueHistoryEntry::KIND_COMMAND_DONE:
      return "command done";
    case QueueHistoryEntry::KIND_COMMAND_REFUSED:
      return "command refused";
    case QueueHistoryEntry::KIND_SPEC_WARNING:
      return "spec warning";
    default:
      return "-";
  }
}

Cell QueueStateCell(const QueueHistoryEntry& entry) {
  if (entry.from_state() == entry.to_state()) return StateText(entry.to_state());
  return {fmt::format("{} → {}", StateText(entry.from_state()), StateText(entry.to_state())),
          QueueStateColour(entry.to_state())};
}

std::string QueueOutcome(const QueueHistoryEntry& entry) {
  if (entry.kind() != QueueHistoryEntry::KIND_REFUSED) return entry.committed() ? "" : "not acknowledged";
  const auto& refusal = entry.refusal();
  const std::string until =
      entry.has_end_time() ? fmt::format(", until {}", QueueClock(kube::ToMs(entry.end_time()))) : ", still";
  return fmt::format("{} {}: {}{}", refusal.code(), refusal.reason(), refusal.message(), until);
}

// Returns a line with one detail of a queue.
std::string FactLine(std::string_view name, const std::string& value, const Look& look) {
  return CutLine(fmt::format("{:<11} {}", name, Printable(value)), look.width) + "\n";
}

std::string FormatQueueEntries(const queue::v1::QueueHistory& history, int first, const Look& look) {
  std::vector<Row> rows;
  for (int i = first; i < history.entries_size(); ++i) {
    const QueueHistoryEntry& entry = history.entries(i);
    const std::string outcome = QueueOutcome(entry);
    const std::string gap = entry.cause().empty() || outcome.empty() ? "" : "; ";
    rows.push_back({QueueClock(kube::ToMs(entry.time())), QueueStateCell(entry), EntryKindText(entry.kind()),
                    CountsText(entry.counts()), entry.cause() + gap + outcome});
  }
  return FormatTable({"TIME", Whole("STATE"), "WHAT", "POD GROUPS", "WHY"}, rows, look);
}

}  // namespace

std::string StateText(std::string_view state) { return state.empty() ? "-" : std::string(state); }

Colour QueueStateColour(std::string_view state) {
  if (state == "Open") return Colour::kGreen;
  if (state == "Closed") return Colour::kRed;
  return state.empty() ? Colour::kPlain : Colour::kYellow;
}

std::string CountsText(const queue::v1::PodGroupCounts& counts) {
  return fmt::format("{} pending, {} inqueue, {} running, {} unknown, {} completed", counts.pending(), counts.inqueue(),
                     counts.running(), counts.unknown(), counts.completed());
}

std::string FormatQueues(const queue::v1::ListQueuesResponse& queues, const Look& look) {
  std::vector<Row> rows;
  std::vector<Row> kai_rows;
  const std::map<std::string, std::string> remarks = QueueRemarks(queues);
  for (const queue::v1::Queue& queue : queues.queues()) {
    const auto known = remarks.find(QueueNameOf(queue));
    const std::string remark = known == remarks.end() ? "" : known->second;
    if (queue.has_kai()) {
      const kube::v1::KaiQueue& kai = queue.kai().object();
      kai_rows.push_back({QueueNameOf(queue), StateText(kai.parent()), std::to_string(kai.priority()),
                          std::to_string(queue.kai().pod_groups()), StateText(ResourcesText(queue)), remark});
      continue;
    }
    const queue::v1::PodGroupCounts& counts = queue.pod_groups();
    rows.push_back({queue.object().meta().name(), StateText(queue.object().state()), StateText(queue.object().parent()),
                    IsMissing(queue) ? "-" : std::to_string(queue.object().weight()), std::to_string(counts.pending()),
                    std::to_string(counts.inqueue()), std::to_string(counts.running()),
                    std::to_string(counts.unknown()), std::to_string(counts.completed()), remark});
  }
  const std::string text = FormatTable(
      {"NAME", "STATE", "PARENT", "WEIGHT", "PENDING", "INQUEUE", "RUNNING", "UNKNOWN", "COMPLETED", ""}, rows, look);
  if (kai_rows.empty()) return text;
  return text + "\n" + FormatTable({"KAI QUEUE", "PARENT", "PRIORITY", "POD GROUPS", "RESOURCES", ""}, kai_rows, look);
}

bool IsMissing(const queue::v1::Queue& queue) {
  return (queue.has_kai() ? queue.kai().object().meta() : queue.object().meta()).uid().empty();
}

std::string QueueNameOf(const queue::v1::Queue& queue) {
  return queue.has_kai() ? kube::KaiQueueKey(queue.kai().object().meta().name()) : queue.object().meta().name();
}

std::string ResourcesText(const queue::v1::Queue& queue) {
  const auto& allocated = queue.has_kai() ? queue.kai().object().allocated() : queue.object().allocated();
  const auto& most = queue.has_kai() ? queue.kai().object().limit() : queue.object().capability();
  std::map<std::string, std::pair<std::string, std::string>> by_resource;
  for (const kube::v1::KeyValue& pair : allocated) by_resource[pair.key()].first = pair.value();
  for (const kube::v1::KeyValue& pair : most) by_resource[pair.key()].second = pair.value();
  std::string text;
  for (const auto& [resource, amounts] : by_resource) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", resource, amounts.first.empty() ? "0" : amounts.first);
    if (!amounts.second.empty()) text += fmt::format("/{}", amounts.second);
  }
  return text;
}

std::string FormatKaiQueue(const queue::v1::KaiQueue& queue, const Look& look) {
  const kube::v1::KaiQueue& object = queue.object();
  std::string text;
  const auto add = [&](std::string_view what, const std::string& says) { text += FactLine(what, says, look); };
  const auto add_amounts = [&add](std::string_view what, const auto& amounts) {
    std::vector<std::string> texts;
    for (const kube::v1::KeyValue& pair : amounts) texts.push_back(fmt::format("{} {}", pair.key(), pair.value()));
    if (!texts.empty()) add(what, fmt::format("{}", fmt::join(texts, ", ")));
  };
  add("Name", kube::KaiQueueKey(object.meta().name()));
  if (object.meta().uid().empty()) {
    add("State", "does not exist; pod groups name it");
  } else {
    add("UID", object.meta().uid());
    if (!object.display_name().empty()) add("Shown as", object.display_name());
    add("Parent", StateText(object.parent()));
    add("Priority", std::to_string(object.priority()));
    add_amounts("Quota", object.quota());
    add_amounts("Limit", object.limit());
    add_amounts("Allocated", object.allocated());
    add_amounts("Requested", object.requested());
  }
  add("Pod groups", std::to_string(queue.pod_groups()));
  return text;
}

std::string FormatQueue(const queue::v1::Queue& queue, const queue::v1::QueueHistory& history, int64_t now_ms,
                        const Look& look) {
  const kube::v1::Queue& object = queue.object();
  std::string text;
  const auto add = [&](std::string_view what, const std::string& says) { text += FactLine(what, says, look); };
  add("Name", object.meta().name());
  add("UID", object.meta().uid());
  add("State", StateAndEndOf(object));
  add("Parent", StateText(object.parent()));
  add("Weight", std::to_string(object.weight()));
  if (const std::string resources = ResourcesText(queue); !resources.empty()) add("Resources", resources);
  if (object.meta().creation_ms() != 0) add("Age", FormatAge(now_ms - object.meta().creation_ms()));
  add("Pod groups", CountsText(queue.pod_groups()));
  if (object.has_extend_clusters()) add("Clusters", "jobs may be forwarded to others");
  if (history.entries().empty()) return text;
  const int first = std::max(0, history.entries_size() - kRecentEntries);
  text += "\n" + FormatQueueEntries(history, first, look);
  if (first > 0) {
    text += Wrap(fmt::format("{} earlier ones: basaltctl queue history {}", first, object.meta().name()), look.width) +
            "\n";
  }
  return text;
}

std::string FormatQueueExplanation(const queue::v1::QueueExplanation& explanation, size_t width) {
  std::string text = Wrap(Printable(explanation.summary()), width) + "\n";
  if (explanation.causes_size() > 0) text += '\n';
  for (const queue::v1::QueueCause& cause : explanation.causes()) {
    std::string words = cause.subject().empty() ? "" : cause.subject() + ": ";
    words += cause.message();
    if (cause.has_since_time()) {
      words +=
          fmt::format(", for {}", FormatAge(kube::ToMs(explanation.explain_time()) - kube::ToMs(cause.since_time())));
    }
    text += Wrap("- " + Printable(words), width, 2) + "\n";
    if (cause.advice().empty()) continue;
    text += "  " + Wrap("→ " + Printable(cause.advice()), width > 2 ? width - 2 : 0, 4) + "\n";
  }
  if (explanation.pod_groups().empty()) return text;
  text += "\nPod groups:\n";
  for (const std::string& group : explanation.pod_groups()) text += "  " + Printable(group) + "\n";
  const int64_t others = explanation.pod_groups_total() - explanation.pod_groups_size();
  if (others > 0) text += fmt::format("  and {} others\n", others);
  return text;
}

std::string FormatQueueChange(const queue::v1::Queue& queue) {
  const kube::v1::Queue& object = queue.object();
  return Printable(
             fmt::format("{}  {}  {}", object.meta().name(), StateAndEndOf(object), CountsText(queue.pod_groups()))) +
         "\n";
}

std::string FormatHistory(const queue::v1::QueueHistory& history, const Look& look) {
  std::string text = FormatQueueEntries(history, 0, look);
  if (history.has_counts_time()) {
    text += CutLine(fmt::format("Counts last written {}: {}", QueueClock(kube::ToMs(history.counts_time())),
                                CountsText(history.counts())),
                    look.width) +
            "\n";
  }
  if (history.has_gone_time()) text += fmt::format("Gone since {}\n", QueueClock(kube::ToMs(history.gone_time())));
  return text;
}

}  // namespace basalt::cli
