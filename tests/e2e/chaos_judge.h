#pragma once

// Invariants that hold however processes were killed, stopped and continued. These functions are pure: they check the
// API server's log of requests and the objects that the server holds in the end. Each function appends one sentence for
// each violation, and none if no invariant is violated.
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.h"
#include "tests/e2e/chaos_plan.h"
#include "tests/e2e/harness.h"
#include "tests/e2e/writer.h"

namespace basalt::e2e {

// The user agent of the test's own requests in the log.
inline constexpr std::string_view kChaosUser = "test";

// Checks that no pod is created or deleted without a reason that came before. A pod is created once, and once more for
// each full kill of its job and for each deletion of the pod by the user. No pod of the present version is deleted
// before the job ends. Versions grow by one.
void JudgeLog(const std::vector<ChaosJob>& jobs, const std::vector<Write>& log, std::vector<std::string>& violations);

// Checks that two owners never wrote the same slot in one epoch. `attributed` grows by the number of writes that name
// their owner.
void JudgeOwners(const std::vector<Write>& log, size_t& attributed, std::vector<std::string>& violations);

// Checks for each slot that no write with an older epoch was carried out after a write with a newer one.
void JudgeEpochs(const std::vector<Write>& log, std::vector<std::string>& violations);

// `jobs_list`, `pods_list` and `groups_list` are the lists that the API server answers in the end. Checks that each job
// ended in its expected phase and that its counts match its pods. A deleted job must have left nothing, and a finished
// job no PodGroup.
void JudgeEnd(const std::vector<ChaosJob>& jobs, const std::vector<Write>& log, const json::value& jobs_list,
              const json::value& pods_list, const json::value& groups_list, std::vector<std::string>& violations);

}  // namespace basalt::e2e
