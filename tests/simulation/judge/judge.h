#pragma once

// What must hold of a run. Judged on the embedded API server's log of requests and on what is stored once it is quiet,
// not on what the suite says of itself. Each function appends a sentence for each invariant that does not hold.
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

// `suite` is quiet, and was healed at `healed`. All of the below, pods, phases, counts and what may be left over.
void Judge(SimSuite& suite, const std::vector<PlannedJob>& jobs, absl::Time healed,
           std::vector<std::string>& violations, Probes& probes);

// ---- the parts ----

// One writer for each slot and epoch, and none that has been overtaken.
void JudgeWriters(const kubesim::ApiServer& api, std::vector<std::string>& violations);
// Every command that was accepted is done exactly once.
void EnqueueNextCommand(const kubesim::ApiServer& api, const std::vector<PlannedJob>& jobs,
                        std::vector<std::string>& violations, Probes& probes);
// What policies and commands have done to pods was called for by a fact, once, and at its time.
void JudgeActions(SimSuite& suite, const std::vector<PlannedJob>& jobs, absl::Time healed,
                  std::vector<std::string>& violations, Probes& probes);
// Each pod that was deleted together with others was one that its job's kill covered.
void JudgeCollections(const kubesim::ApiServer& api, const std::vector<PlannedJob>& jobs,
                      std::vector<std::string>& violations, Probes& probes);
// The owner of each job has its record and its pods, and nobody else takes it for its own.
void JudgeRecords(SimSuite& suite, const std::vector<PlannedJob>& jobs, std::vector<std::string>& violations);
// What history tells has happened, and where nothing was lost it tells of all.
void JudgeHistory(SimSuite& suite, const std::vector<PlannedJob>& jobs, std::vector<std::string>& violations);
// Each pod of a plain workload runs, in the group of its owner, which is as both say; no group is left of what is not
// wanted any more.
void JudgeWorkloads(SimSuite& suite, std::vector<std::string>& violations);
// pgsvc writes nothing after that time.
void JudgeGroupWriters(SimSuite& suite, absl::Time quiet, std::vector<std::string>& violations, Probes& probes);

// The queues of a QueueForest and what is in them; queuesvc writes nothing after `quiet`.
void JudgeQueues(SimSuite& suite, absl::Time quiet, std::vector<std::string>& violations);

// It took effect, whether or not its sender heard of it.
bool Succeeded(const kubesim::LoggedRequest& request);
bool IsOurs(const kubesim::LoggedRequest& request);
// The job's phase in a status patch; empty: it leaves the phase alone.
std::string_view PhaseOf(const kubesim::LoggedRequest& request);
// What a status patch says under our key of controlledResources; null: nothing.
json::value OwnStateIn(const kubesim::LoggedRequest& request);
// Kubernetes says in a status of a pod that it ends the pod.
bool IsDisrupted(const json::value& pod_status);
// The UID of the controller in what is created; empty: it has none.
std::string OwnerIn(const kubesim::LoggedRequest& request);
// The replicas of each task after an edit of the spec by a user, from those before.
void ApplyEdit(const kubesim::LoggedRequest& request, std::vector<int>& replicas);

}  // namespace basalt::simulation
