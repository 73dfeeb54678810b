#pragma once

// Pod groups and their history, formatted for people. Pure.
#include <cstdint>
#include <string>

#include "basalt/podgroup/v1/pod_group_query.pb.h"
#include "cli/view/look.h"

namespace basalt::cli {

// Returns a table of groups. Ages are relative to `now_ms`.
std::string FormatPodGroups(const podgroup::v1::ListPodGroupsResponse& groups, bool with_namespace, int64_t now_ms,
                            const Look& look);
// Returns one group, a line for each detail.
std::string FormatPodGroup(const podgroup::v1::PodGroup& group, int64_t now_ms, const Look& look);
// Returns one line for a change, for logs and pipes.
std::string FormatPodGroupChange(const podgroup::v1::PodGroup& group);
std::string FormatPodGroupHistory(const podgroup::v1::PodGroupHistory& history, const Look& look);

}  // namespace basalt::cli
