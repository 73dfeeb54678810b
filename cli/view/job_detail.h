#pragma once

// One job with all that is known of it, as `basaltctl job get` tells it.
#include <cstdint>
#include <string>

#include "basalt/job/v1/job.pb.h"
#include "cli/view/look.h"

namespace basalt::cli {

inline constexpr int kRecentDecisions = 5;

// What it was asked to be, tasks, pods, conditions, what it waits for, and the newest decisions of `history`. What it
// does not have is left out.
std::string FormatJob(const job::v1::Job& job, const job::v1::JobHistory& history, int64_t now_ms,
                      const Look& look = {});

}  // namespace basalt::cli
