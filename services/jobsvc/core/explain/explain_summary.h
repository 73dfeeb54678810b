#pragma once

// The one paragraph of an explanation, from its causes, and what both say of how the job came to be where it is. Pure.
#include <set>
#include <string>

#include "services/jobsvc/core/explain/explain.h"

namespace basalt::jobsvc {

// Nothing more happens to the job by itself.
bool Rests(kube::v1::JobPhase phase);
// It has failed for that.
bool HasUsedUpRetries(const ExplainInput& input);
// Empty: it is not remembered, or goes without saying.
std::string OriginOf(const ExplainInput& input);

// Needs all of the explanation but the summary. `beside`: positions of causes that hold nothing up.
std::string SummaryOf(const ExplainInput& input, const job::v1::JobExplanation& explanation,
                      const std::set<int>& beside);

}  // namespace basalt::jobsvc
