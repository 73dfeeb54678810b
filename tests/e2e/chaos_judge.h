#pragma once

// What must hold however processes were killed, stopped and continued. Pure: judged on the API server's log of requests
// and on what it holds in the end. Each function adds sentences that say what was violated; none: all is well.
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.h"
#include "tests/e2e/chaos_plan.h"
#include "tests/e2e/harness.h"
#include "tests/e2e/writer.h"

namespace basalt::e2e {

// Who the user is in the log.
inline constexpr std::string_view kChaosUser = "test";

// Nothing is made or removed without a reason that was there before: a pod is made once, and again for each full kill
// of its job and each deletion of it by the user; of the present run nothing is deleted before the job ends; versions
// grow by one.
void JudgeLog(const std::vector<ChaosJob>& jobs, const std::vector<Write>& log, std::vector<std::string>& violations);

// No slot was written by two owners in one of its epochs. How many writes told their owner goes to `told`.
void JudgeOwners(const std::vector<Write>& log, size_t& told, std::vector<std::string>& violations);

// Of each slot no write was carried out that came with an older epoch after one with a newer.
void JudgeEpochs(const std::vector<Write>& log, std::vector<std::string>& violations);

// `jobs_list`, `pods_list` and `groups_list`: what the API server answers. Jobs have ended in their phase and their
// counts are those of their pods; of those that were deleted nothing is left, of those that ended no PodGroup.
void JudgeEnd(const std::vector<ChaosJob>& jobs, const std::vector<Write>& log, const json::value& jobs_list,
              const json::value& pods_list, const json::value& groups_list, std::vector<std::string>& violations);

}  // namespace basalt::e2e
