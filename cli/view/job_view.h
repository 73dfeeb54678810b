#pragma once

// How jobs, pods and history look to people.
#include <string>
#include <string_view>
#include <vector>

#include "basalt/job/v1/job.pb.h"
#include "cli/view/table.h"

namespace basalt::cli {

std::string PhaseText(kube::v1::JobPhase phase);
std::string PodPhaseText(kube::v1::PodPhase phase);
// "{Pending,Running,…}", and `another` behind them if it is not empty: how the help names the values of an option.
std::string PhaseSet(std::string_view another = {});
bool IsFinished(kube::v1::JobPhase phase);

// NAME PHASE PENDING RUNNING SUCCEEDED FAILED TOTAL QUEUE AGE WAITING FOR; with NAMESPACE in front for all namespaces.
std::string FormatJobs(const std::vector<job::v1::Job>& jobs, bool with_namespace, int64_t now_ms, size_t width);
// Everything about one job, its pods included.
std::string FormatJob(const job::v1::Job& job, int64_t now_ms, size_t width);
std::string FormatHistory(const job::v1::JobHistory& history, size_t width);
// One line for a change, for logs and pipes.
std::string FormatChange(const job::v1::Job& job);

}  // namespace basalt::cli
