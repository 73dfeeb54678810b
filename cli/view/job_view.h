#pragma once

// Jobs, pods and history, formatted for people.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/job/v1/job.pb.h"
#include "cli/view/look.h"

namespace basalt::cli {

std::string PhaseText(kube::v1::JobPhase phase);
std::string PodPhaseText(kube::v1::PodPhase phase);
// Returns "1 pending, 0 running, 4 succeeded, 0 failed", and the other counts that are not 0.
std::string CountsText(const kube::v1::PodCounts& counts);
// Returns the values of an option for the help: "{Pending,Running,…}", with `another` last if it is not empty.
std::string PhaseSet(std::string_view another = {});
// Parses the values of an option that takes several phases. The value `another` is allowed, too, and left out of the
// result. INVALID_ARGUMENT names the option, the value and the valid values.
absl::StatusOr<std::vector<kube::v1::JobPhase>> ParsePhases(std::string_view option,
                                                            const std::vector<std::string>& names,
                                                            std::string_view another = {});
bool IsFinished(kube::v1::JobPhase phase);

// Returns a table with the columns NAME PHASE PENDING RUNNING SUCCEEDED FAILED TOTAL QUEUE AGE WHY, and NAMESPACE first
// if `with_namespace`. A narrow table has fewer columns.
std::string FormatJobs(const std::vector<const job::v1::Job*>& jobs, bool with_namespace, int64_t now_ms,
                       const Look& look = {});
// Returns every decision, with the pods as they were. A narrow table leaves out the least useful columns; if that is
// not enough, each decision is several lines, uncut.
std::string FormatHistory(const job::v1::JobHistory& history, const Look& look = {});
// Returns every decision without numbers and pods. Narrow output is as of FormatHistory().
std::string FormatDecisions(const job::v1::JobHistory& history, const Look& look = {});
// Returns a line if earlier decisions about the job, "NAMESPACE/NAME", are missing in its history. Empty if none can be
// missing.
std::string FormatGap(const job::v1::JobHistory& history, std::string_view job);
// Returns a line for each warning about a submitted job. `source` names the document.
std::string FormatWarnings(std::string_view source, const job::v1::Job& job);
// Returns one line for a change, for logs and pipes.
std::string FormatChange(const job::v1::Job& job);

}  // namespace basalt::cli
