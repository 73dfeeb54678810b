#pragma once

// How jobs, pods and history look to people.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "basalt/job/v1/job.pb.h"
#include "cli/view/look.h"

namespace basalt::cli {

std::string PhaseText(kube::v1::JobPhase phase);
std::string PodPhaseText(kube::v1::PodPhase phase);
// "1 pending, 0 running, 4 succeeded, 0 failed", and what else there is.
std::string CountsText(const kube::v1::PodCounts& counts);
// "{Pending,Running,…}", and `another` behind them if it is not empty: how the help names the values of an option.
std::string PhaseSet(std::string_view another = {});
// The values of an option that takes several phases, and perhaps `another`, which is left out of the answer.
// INVALID_ARGUMENT names the option, the value and what there is.
absl::StatusOr<std::vector<kube::v1::JobPhase>> ParsePhases(std::string_view option,
                                                            const std::vector<std::string>& names,
                                                            std::string_view another = {});
bool IsFinished(kube::v1::JobPhase phase);

// NAME PHASE PENDING RUNNING SUCCEEDED FAILED TOTAL QUEUE AGE WHY; with NAMESPACE in front for all namespaces.
std::string FormatJobs(const std::vector<const job::v1::Job*>& jobs, bool with_namespace, int64_t now_ms,
                       const Look& look = {});
// Every decision, with the pods as they were.
std::string FormatHistory(const job::v1::JobHistory& history, const Look& look = {});
// The same, shorter: without numbers and pods. Where there is little room both go without what says least, and where
// that is not enough stand in several lines each, uncut.
std::string FormatDecisions(const job::v1::JobHistory& history, const Look& look = {});
// A line where decisions about the job, "NAMESPACE/NAME", are not in its history (any more); else nothing.
std::string FormatGap(const job::v1::JobHistory& history, std::string_view job);
// What a submission is warned of, a line each; `source` names the document.
std::string FormatWarnings(std::string_view source, const job::v1::Job& job);
// One line for a change, for logs and pipes.
std::string FormatChange(const job::v1::Job& job);

}  // namespace basalt::cli
