#include "cli/view/pod_group_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "cli/view/grouping_view.h"
#include "cli/view/table.h"
#include "common/base/excerpt.h"
#include "common/base/json.h"
#include "common/kube/timestamp.h"

namespace basalt::cli {
namespace {

using podgroup::v1::PodGroup;
using podgroup::v1::PodGroupHistoryEntry;

std::string AgeOf(const PodGroup& group, int64_t now_ms) {
  const int64_t created_ms = group.object().meta().creation_ms();
  return created_ms == 0 ? "-" : FormatAge(now_ms - created_ms);
}

// Returns the phase of the group. KAI's groups have no phase in the API server; theirs follows from the pods.
std::string PhaseOf(const PodGroup& group) {
  if (group.object().meta().uid().empty()) return "not made";
  if (group.profile() == podgroup::v1::PROFILE_KAI && group.has_members()) return PhaseText(group.members().phase());
  return OrDash(group.object().phase());
}

// How many pods of a group run, have succeeded and have failed. The group's members give the counts if they are known,
// else the status that the scheduler writes.
struct Counts {
  explicit Counts(const PodGroup& group)
      : running(group.object().counts().running()),
        succeeded(group.object().counts().succeeded()),
        failed(group.object().counts().failed()) {
    if (!group.has_members()) return;
    running = group.members().running();
    succeeded = group.members().succeeded();
    failed = group.members().failed();
  }
  int32_t running, succeeded, failed;
};

std::string ProfileOf(const PodGroup& group) {
  switch (group.profile()) {
    case podgroup::v1::PROFILE_RICH:
      return "rich";
    case podgroup::v1::PROFILE_KAI:
      return "kai";
    default:
      return "compat";
  }
}

std::string LinesOfSpec(const std::string& spec_json) {
  std::string text;
  const absl::StatusOr<json::value> spec = ParseJson(spec_json);
  if (!spec.ok() || !spec->is_object()) return text;
  for (const auto& [field, value] : spec->get_object()) {
    const std::string shown = value.is_string() ? std::string(value.get_string()) : ToText(value);
    text += fmt::format("  {}: {}\n", std::string_view(field), Printable(shown));
  }
  return text;
}

std::string PhaseAndEndOf(const PodGroup& group) {
  return PhaseOf(group) + (group.object().meta().deletion_ms() == 0 ? "" : ", being deleted");
}

std::string_view DecisionText(PodGroupHistoryEntry::Decision decision) {
  switch (decision) {
    case PodGroupHistoryEntry::DECISION_CREATED:
      return "created";
    case PodGroupHistoryEntry::DECISION_UPDATED:
      return "updated";
    case PodGroupHistoryEntry::DECISION_DELETED:
      return "deleted";
    case PodGroupHistoryEntry::DECISION_REFUSED:
      return "refused";
    case PodGroupHistoryEntry::DECISION_FOREIGN:
      return "left alone";
    default:
      return "unknown";
  }
}

std::string WordsOf(const PodGroupHistoryEntry& entry) {
  if (!entry.message().empty()) return Printable(entry.message());
  if (!entry.fields().empty()) return fmt::format("{}", fmt::join(entry.fields(), ", "));
  return "-";
}

}  // namespace

std::string FormatPodGroups(const podgroup::v1::ListPodGroupsResponse& groups, bool with_namespace, int64_t now_ms,
                            const Look& look) {
  Row header = {"NAME", "PROFILE", "STATUS", "QUEUE", "MINMEMBER", "RUNNING", "SUCCEEDED", "FAILED", "AGE"};
  if (with_namespace) header.insert(header.begin(), "NAMESPACE");
  std::vector<Row> rows;
  for (const PodGroup& group : groups.pod_groups()) {
    const kube::v1::PodGroup& object = group.object();
    const Counts counts(group);
    Row row = {object.meta().name(),
               ProfileOf(group),
               PhaseOf(group),
               OrDash(object.spec().queue()),
               std::to_string(object.spec().min_member()),
               std::to_string(counts.running),
               std::to_string(counts.succeeded),
               std::to_string(counts.failed),
               AgeOf(group, now_ms)};
    if (with_namespace) row.insert(row.begin(), object.meta().namespace_());
    rows.push_back(std::move(row));
  }
  return FormatTable(header, rows, look);
}

std::string FormatPodGroup(const PodGroup& group, int64_t now_ms, const Look& look) {
  const kube::v1::PodGroup& object = group.object();
  std::string text = Printable(fmt::format("Pod group {}/{}: {}", object.meta().namespace_(), object.meta().name(),
                                           PhaseAndEndOf(group))) +
                     "\n";
  const auto line = [&text](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("{:<12}{}\n", name, Printable(value));
  };
  line("UID", object.meta().uid());
  line("Profile", ProfileOf(group));
  const bool is_of_kai = group.profile() == podgroup::v1::PROFILE_KAI;
  for (const kube::v1::OwnerReference& owner : object.meta().owner_references()) {
    if (owner.controller() || is_of_kai) line("Owner", fmt::format("{} {}", owner.kind(), owner.name()));
  }
  line("Queue", object.spec().queue());
  line("Priority", object.spec().priority_class_name());
  line("Min member", std::to_string(object.spec().min_member()));
  for (const kube::v1::KeyValue& resource : object.spec().min_resources()) {
    line("Min", fmt::format("{} {}", resource.key(), resource.value()));
  }
  if (group.has_members()) {
    line("Pods", MembersText(group.members()));
  } else if (group.pods() > 0) {
    line("Pods", fmt::format("{} of no job", group.pods()));
  }
  const Counts counts(group);
  line("Running", std::to_string(counts.running));
  line("Succeeded", std::to_string(counts.succeeded));
  line("Failed", std::to_string(counts.failed));
  line("Age", AgeOf(group, now_ms));
  if (group.has_failing_since_time()) {
    line("Failing", fmt::format("since {}", FormatTime(kube::ToMs(group.failing_since_time()))));
    if (group.has_retry_time()) line("Next try", FormatTime(kube::ToMs(group.retry_time())));
  }
  if (!group.spec_json().empty()) text += "Spec\n" + LinesOfSpec(group.spec_json());
  std::vector<Row> rows;
  for (const kube::v1::PodGroupCondition& condition : object.conditions()) {
    const int64_t changed_ms = condition.last_transition_ms();
    rows.push_back({condition.type(), condition.status(), changed_ms == 0 ? "-" : FormatTime(changed_ms),
                    OrDash(condition.reason()), OrDash(condition.message())});
  }
  if (!rows.empty()) text += "\n" + FormatTable({"CONDITION", "STATUS", "SINCE", "REASON", "MESSAGE"}, rows, look);
  return text;
}

std::string FormatPodGroupChange(const PodGroup& group) {
  const kube::v1::PodGroup& object = group.object();
  const bool is_compat = group.profile() <= podgroup::v1::PROFILE_COMPAT;
  std::string text =
      fmt::format("{}/{}{}  {}", object.meta().namespace_(), object.meta().name(),
                  is_compat ? std::string() : fmt::format(" ({})", ProfileOf(group)), PhaseAndEndOf(group));
  if (!object.meta().uid().empty()) {
    text += fmt::format("  queue {}, min member {}", OrDash(object.spec().queue()), object.spec().min_member());
  }
  if (group.pods() > 0) text += fmt::format("  pods of no job: {}", group.pods());
  if (group.has_failing_since_time()) {
    text += fmt::format("  failing since {}", FormatTime(kube::ToMs(group.failing_since_time())));
  }
  return Printable(text) + "\n";
}

std::string FormatPodGroupHistory(const podgroup::v1::PodGroupHistory& history, const Look& look) {
  std::vector<Row> rows;
  for (const PodGroupHistoryEntry& entry : history.entries()) {
    rows.push_back({std::to_string(entry.sequence()), FormatTime(kube::ToMs(entry.time())),
                    std::string(DecisionText(entry.decision())), OrDash(entry.asked_by()),
                    entry.version() == 0 ? "-" : std::to_string(entry.version()), OrDash(entry.uid()), WordsOf(entry)});
  }
  std::string text = FormatTable({"#", "TIME", "DECISION", "FOR", "VERSION", "UID", "WHAT"}, rows, look);
  if (history.has_gone_time()) text += fmt::format("Gone since {}\n", FormatTime(kube::ToMs(history.gone_time())));
  return text;
}

}  // namespace basalt::cli
