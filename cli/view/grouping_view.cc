#include "cli/view/grouping_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "cli/view/output.h"
#include "cli/view/table.h"
#include "common/base/excerpt.h"
#include "common/base/json.h"
#include "common/base/yaml.h"

namespace basalt::cli {

namespace {

using podgroup::v1::TriedGroup;
using podgroup::v1::TriedPod;

// Returns why the pod has no group. Empty if the pod has one.
std::string WhyNot(const TriedPod& pod) {
  switch (pod.verdict()) {
    case TriedPod::VERDICT_OPTED_OUT:
      return fmt::format("{} opts out", pod.decided_by());
    case TriedPod::VERDICT_ASSIGNED:
      return "the pod names a group already";
    case TriedPod::VERDICT_FAILED:
      return pod.error();
    default:
      return {};
  }
}

std::string ProblemsOf(const TriedGroup& group) {
  std::string text;
  for (const std::string& warning : group.warnings()) text += fmt::format("warning: {}\n", Printable(warning));
  for (const std::string& loss : group.losses()) text += fmt::format("not expressible: {}\n", Printable(loss));
  return text;
}

std::string TextOf(const TriedGroup& group) {
  std::string text = fmt::format("\nPod group {}/{}\n", Printable(group.namespace_()), Printable(group.name()));
  const absl::StatusOr<json::value> manifest = ParseJson(group.manifest());
  const json::value* const spec = manifest.ok() ? Find(*manifest, "spec") : nullptr;
  if (spec != nullptr) text += ToYaml(*spec);
  for (const TriedGroup::Source& source : group.sources()) {
    text += fmt::format("# {}: {}\n", source.field(), Printable(source.source()));
  }
  return text + ProblemsOf(group);
}

}  // namespace

std::string PhaseText(podgroup::v1::GroupMembers::Phase phase) {
  std::string text = podgroup::v1::GroupMembers::Phase_Name(phase);
  text = text.substr(std::string_view("PHASE_").size());
  return text.substr(0, 1) + absl::AsciiStrToLower(text.substr(1));
}

std::string MembersText(const podgroup::v1::GroupMembers& members) {
  std::string text = PhaseText(members.phase()) + ";";
  const auto count = [&text](int32_t number, std::string_view what) {
    if (number > 0) text += fmt::format(" {} {},", number, what);
  };
  count(members.pending(), "pending");
  count(members.running(), "running");
  count(members.succeeded(), "succeeded");
  count(members.failed(), "failed");
  text.pop_back();
  return text;
}

std::string FormatGroupingRules(const podgroup::v1::ListGroupingRulesResponse& rules, const Look& look) {
  std::vector<Row> rows;
  for (const auto& rule : rules.rules()) {
    rows.push_back({rule.kind(),
                    rule.group().empty() ? rule.version() : fmt::format("{}/{}", rule.group(), rule.version()),
                    rule.summary()});
  }
  return FormatTable({"KIND", "API", "GROUPED"}, rows, look);
}

std::string FormatTriedGrouping(const podgroup::v1::TryGroupingResponse& tried, const Look& look) {
  std::vector<Row> rows;
  for (const TriedPod& pod : tried.pods()) {
    const std::string why_not = WhyNot(pod);
    rows.push_back({pod.namespace_(), pod.name(), OrDash(pod.group()), OrDash(pod.sub_group()),
                    OrDash(pod.decided_by()), OrDash(why_not.empty() ? pod.rule() : why_not)});
  }
  std::string text = FormatTable({"NAMESPACE", "POD", "GROUP", "SUBGROUP", "BY", "RULE"}, rows, look);
  for (const TriedGroup& group : tried.groups()) text += TextOf(group);
  return text;
}

std::string FormatExplainedGrouping(const podgroup::v1::ExplainGroupingResponse& explained) {
  const TriedPod& pod = explained.pod();
  std::string text = fmt::format("Pod {}/{}\n", Printable(pod.namespace_()), Printable(pod.name()));
  const auto line = [&text](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("{:<12}{}\n", name, Printable(value));
  };
  for (const std::string& owner : explained.owners()) line("Owner:", owner);
  for (const std::string& owner : explained.unreadable()) line("Unreadable:", owner + ", by which the way up ends");
  for (const std::string& fact : explained.waits_for()) line("Waits for:", fact);
  if (!explained.waits_for().empty()) return text;
  const std::string why_not = WhyNot(pod);
  line("No group:", why_not);
  if (!why_not.empty()) return text;
  line("Grouped by:", pod.decided_by());
  line("Rule:", pod.rule());
  line("Subgroup:", pod.sub_group());
  line("In cluster:", explained.is_there() ? "yes" : "not yet");
  line("To change:", fmt::format("{}", fmt::join(explained.differing_fields(), ", ")));
  if (explained.has_members())
    line("Pods:", fmt::format("{}; {} needed at least", MembersText(explained.members()), explained.least_pods()));
  for (const std::string& reason : explained.unschedulable()) line("Not placed:", reason);
  for (const std::string& note : explained.notes()) line("Note:", note);
  if (explained.has_group()) text += TextOf(explained.group());
  return text;
}

std::string FormatTriedProblems(const podgroup::v1::TryGroupingResponse& tried) {
  std::string text;
  for (const TriedPod& pod : tried.pods()) {
    const std::string why_not = WhyNot(pod);
    if (why_not.empty()) continue;
    text += fmt::format("pod {}/{}: {}\n", Printable(pod.namespace_()), Printable(pod.name()), Printable(why_not));
  }
  for (const TriedGroup& group : tried.groups()) text += ProblemsOf(group);
  return text;
}

std::string FormatManifests(const podgroup::v1::TryGroupingResponse& tried, std::string_view format) {
  json::array items;
  for (const TriedGroup& group : tried.groups()) {
    absl::StatusOr<json::value> manifest = ParseJson(group.manifest());
    if (manifest.ok()) items.push_back(*std::move(manifest));
  }
  const json::value list = json::object{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}};
  return format == "yaml" ? ToYaml(list) : ToText(list) + "\n";
}

}  // namespace basalt::cli
