#pragma once

// One job with all its details, as `basaltctl job get` prints it.
#include <cstdint>
#include <string>

#include "basalt/job/v1/job.pb.h"
#include "cli/view/look.h"

namespace basalt::cli {

inline constexpr int kRecentDecisions = 5;

// Returns the job's spec, tasks, pods, conditions, what the job waits for, and the newest decisions of `history`.
// Fields without a value are left out.
std::string FormatJob(const job::v1::Job& job, const job::v1::JobHistory& history, int64_t now_ms,
                      const Look& look = {});

}  // namespace basalt::cli
