#pragma once

// Pod groups and what was decided about them, as people read them. Pure.
#include <cstdint>
#include <string>

#include "basalt/podgroup/v1/pod_group_query.pb.h"
#include "cli/view/look.h"

namespace basalt::cli {

// `now_ms`: of ages.
std::string FormatPodGroups(const podgroup::v1::ListPodGroupsResponse& groups, bool with_namespace, int64_t now_ms,
                            const Look& look);
// One of them, in lines.
std::string FormatPodGroup(const podgroup::v1::PodGroup& group, int64_t now_ms, const Look& look);
// One line for a change, for logs and pipes.
std::string FormatPodGroupChange(const podgroup::v1::PodGroup& group);
std::string FormatPodGroupHistory(const podgroup::v1::PodGroupHistory& history, const Look& look);

}  // namespace basalt::cli
