#pragma once

// The one paragraph of an explanation, made from its causes, and the origin of the job's phase, which both contain.
// Pure.
#include <set>
#include <string>

#include "services/jobsvc/core/explain/explain.h"

namespace basalt::jobsvc {

// Returns whether nothing more happens to the job by itself.
bool Rests(kube::v1::JobPhase phase);
// Returns whether the job has failed because its retries are used up.
bool HasUsedUpRetries(const ExplainInput& input);
// Empty if the origin is not remembered, or is obvious.
std::string OriginOf(const ExplainInput& input);

// Requires the explanation to be complete but for its summary. `beside`: positions of causes that hold nothing up.
std::string SummaryOf(const ExplainInput& input, const job::v1::JobExplanation& explanation,
                      const std::set<int>& beside);

}  // namespace basalt::jobsvc
