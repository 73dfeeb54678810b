#pragma once

// The invariants of a run. The functions check the embedded API server's log of requests and the objects that are
// stored once the suite is quiet, not the suite's own reports. Each function appends one sentence for each violation.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kubesim/server/api_server.h"
#include "tests/simulation/planned_job.h"
#include "tests/simulation/sim_suite.h"

namespace basalt::simulation {

// Checks all invariants: those of the functions below, and pods, phases, counts and leftovers. `suite` is quiet, and
// its faults ended at `healed`.
void Judge(SimSuite& suite, const std::vector<PlannedJob>& jobs, absl::Time healed,
           std::vector<std::string>& violations, Probes& probes);

// ---- the parts ----

// Checks that each slot has one writer in each epoch, and that no writer continues after a newer epoch.
void JudgeWriters(const kubesim::ApiServer& api, std::vector<std::string>& violations);
// Checks that every accepted command is carried out exactly once.
void CheckCommands(const kubesim::ApiServer& api, const std::vector<PlannedJob>& jobs,
                   std::vector<std::string>& violations, Probes& probes);
// Checks that a fact called for each action on pods, of policies and of commands, once and at that time.
void JudgeActions(SimSuite& suite, const std::vector<PlannedJob>& jobs, absl::Time healed,
                  std::vector<std::string>& violations, Probes& probes);
// Checks that the kill of its job covered each pod that a deletecollection deleted.
void JudgeCollections(const kubesim::ApiServer& api, const std::vector<PlannedJob>& jobs,
                      std::vector<std::string>& violations, Probes& probes);
// Checks that the owner of each job has the job's record and pods, and that no other replica acts as the owner.
void JudgeRecords(SimSuite& suite, const std::vector<PlannedJob>& jobs, std::vector<std::string>& violations);
// Checks that every phase change in the history has happened. If no record was lost, also checks that the history is
// complete.
void JudgeHistory(SimSuite& suite, const std::vector<PlannedJob>& jobs, std::vector<std::string>& violations);
// Checks that each pod of a plain workload runs and is in the group of its owner, that each group follows its owner and
// pods, and that no group is left of an owner that wants no pods.
void JudgeWorkloads(SimSuite& suite, std::vector<std::string>& violations);
// Checks that pgsvc writes nothing after `quiet`.
void JudgeGroupWriters(SimSuite& suite, absl::Time quiet, std::vector<std::string>& violations, Probes& probes);

// Checks the queues of a QueueForest and their pod groups, and that queuesvc writes nothing after `quiet`.
void JudgeQueues(SimSuite& suite, absl::Time quiet, std::vector<std::string>& violations);

// Returns true if the request took effect, whether or not its sender received the answer.
bool Succeeded(const kubesim::LoggedRequest& request);
bool IsOurs(const kubesim::LoggedRequest& request);
// Returns the job's phase in a status patch. Empty if the patch leaves the phase alone.
std::string_view PhaseOf(const kubesim::LoggedRequest& request);
// Returns the value of our key of controlledResources in a status patch. Null if there is none.
json::value OwnStateIn(const kubesim::LoggedRequest& request);
// Returns true if the status of a pod has the condition DisruptionTarget.
bool IsDisrupted(const json::value& pod_status);
// Returns the UID of the controller in the body of a create. Empty if there is none.
std::string OwnerIn(const kubesim::LoggedRequest& request);
// Applies a user's edit of the spec to the replicas of each task.
void ApplyEdit(const kubesim::LoggedRequest& request, std::vector<int>& replicas);

}  // namespace basalt::simulation
