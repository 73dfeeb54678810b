#pragma once

// The rules of grouping and their results, formatted for people. Pure.
#include <string>
#include <string_view>

#include "basalt/podgroup/v1/grouping.pb.h"
#include "cli/view/look.h"

namespace basalt::cli {

std::string FormatGroupingRules(const podgroup::v1::ListGroupingRulesResponse& rules, const Look& look);
// Returns a table of the pods, then each group with the sources of its fields.
std::string FormatTriedGrouping(const podgroup::v1::TryGroupingResponse& tried, const Look& look);
// Returns why a pod is in its group: the owners, the rule, and the group with the sources of its fields.
std::string FormatExplainedGrouping(const podgroup::v1::ExplainGroupingResponse& explained);
// Returns a text like "Running".
std::string PhaseText(podgroup::v1::GroupMembers::Phase phase);
// Returns a text like "Running; 2 running, 1 failed".
std::string MembersText(const podgroup::v1::GroupMembers& members);
// Returns a line for each pod without a group, with the reason, and for each warning and loss of a group.
std::string FormatTriedProblems(const podgroup::v1::TryGroupingResponse& tried);
// Returns the groups alone, as objects for kubectl. `format` is "json" or "yaml".
std::string FormatManifests(const podgroup::v1::TryGroupingResponse& tried, std::string_view format);

}  // namespace basalt::cli
