#pragma once

// Explains to people why a job is in its state, from what its controller knows anyway. Pure.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "basalt/job/v1/job.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/decide/decide.h"
#include "services/jobsvc/core/effects.h"
#include "services/jobsvc/core/events/deadlines.h"
#include "services/jobsvc/core/explain/explain_pods.h"
#include "services/jobsvc/core/explain/problems.h"

namespace basalt::jobsvc {

struct RetryTime {
  int64_t until_ms = 0;  // When Kubernetes or a peer is tried again after a failure. 0 if nothing backs off.
  int64_t since_ms = 0;  // Time of the first failure since the last success. 0 if there was none.
};
struct RetryTimes {
  RetryTime status;
  RetryTime pods;     // Creates.
  RetryTime kills;    // Marks and deletions.
  RetryTime objects;  // Objects of plugins, and claims.
  RetryTime group;
  RetryTime commands;  // Deletions of commands that were carried out.
  RetryTime forwarding;
  RetryTime ttl;
};

struct WaitingCommand {
  std::string name;
  int64_t since_ms = 0;  // Creation of the command.
};

struct ExplainInput {
  const EffectInput& effects;
  const StatusMessage& refusal;
  const StatusMessage& warning;
  const Problems& problems;             // Refusals by Kubernetes or a plugin.
  const StatusMessage& status_problem;  // Refusal of the intended status write.
  // Set while the job waits for a read of its newest status: the API server's refusal of that read, or an empty
  // message. Null if the job waits for no read.
  const StatusMessage* doubt = nullptr;
  const PendingActions& pending;
  const DeadlineSet& deadlines;
  const kube::v1::PodGroup* group = nullptr;  // Null if there is no group.
  QueueView queue;
  // When the queue entered its present state, or disappeared. 0 if unknown.
  int64_t queue_since_ms = 0;
  // When each claim is tried again, in ms. 0 if at once, or if the claim is watched.
  std::map<std::string, int64_t> missing_claims;
  std::vector<WaitingCommand> commands;  // Commands that wait for their turn.
  PodFindings pods;
  int64_t kill_since_ms = 0;  // Time of the decision that began the present kill. 0 if unknown.
  RetryTimes retry;
  // The decision that led to the job's phase. Null if it is not remembered.
  const job::v1::HistoryEntry* entered_by = nullptr;
  // The restart that used up maxRetry, if that ended the job.
  const job::v1::HistoryEntry* restarted_by = nullptr;
  int64_t refused_since_ms = 0;  // When the spec was first refused. 0 if it is accepted.
  // Departure of the spec from the one with which the job began (core/spec/spec_change.h). Empty if there is none.
  std::string departure = {};
  int64_t departed_ms = 0;  // When the spec departed.
  int64_t now_ms = 0;
};

// Returns the scheduler's newest condition of the group. Null if there is none, or if it is that the group was
// scheduled (job spec 9.11).
const kube::v1::PodGroupCondition* SchedulersWords(const kube::v1::PodGroup& group);

job::v1::JobExplanation Explain(const ExplainInput& input);

}  // namespace basalt::jobsvc
