#pragma once

// Rules of grouping and what they make of objects, as people read them. Pure.
#include <string>
#include <string_view>

#include "basalt/podgroup/v1/grouping.pb.h"
#include "cli/view/look.h"

namespace basalt::cli {

std::string FormatGroupingRules(const podgroup::v1::ListGroupingRulesResponse& rules, const Look& look);
// A table of the pods, then each group with where its fields come from.
std::string FormatTriedGrouping(const podgroup::v1::TryGroupingResponse& tried, const Look& look);
// Why a pod is in its group: owners, rule, and the group with where its fields come from.
std::string FormatExplainedGrouping(const podgroup::v1::ExplainGroupingResponse& explained);
// "Running", and "Running; 2 running, 1 failed".
std::string PhaseText(podgroup::v1::GroupMembers::Phase phase);
std::string MembersText(const podgroup::v1::GroupMembers& members);
// Which pods have no group and why, and what of the groups is not as somebody wants it: a line for each.
std::string FormatTriedProblems(const podgroup::v1::TryGroupingResponse& tried);
// The groups alone, as objects that kubectl takes. `format`: json or yaml.
std::string FormatManifests(const podgroup::v1::TryGroupingResponse& tried, std::string_view format);

}  // namespace basalt::cli
