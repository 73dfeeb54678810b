#pragma once

// Why a job is where it is: for people, from what its controller knows anyway. Pure.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "basalt/job/v1/job.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "services/jobsvc/core/deadlines.h"
#include "services/jobsvc/core/decide.h"
#include "services/jobsvc/core/effects.h"
#include "services/jobsvc/core/explain/explain_pods.h"
#include "services/jobsvc/core/explain/problems.h"

namespace basalt::jobsvc {

struct RetryTime {
  int64_t until_ms = 0;  // Kubernetes or a peer is left alone after a failure; 0: it is not.
  int64_t since_ms = 0;  // Of the first failure without success since; 0: there was none.
};
struct RetryTimes {
  RetryTime status;
  RetryTime pods;     // Making them.
  RetryTime kills;    // Marking and deleting them.
  RetryTime objects;  // Of plugins, and claims.
  RetryTime group;
  RetryTime commands;  // Deleting those that are carried out.
  RetryTime forwarding;
  RetryTime ttl;
};

struct WaitingCommand {
  std::string name;
  int64_t since_ms = 0;  // Its creation.
};

struct ExplainInput {
  const EffectInput& effects;
  const StatusMessage& refusal;
  const StatusMessage& warning;
  const Problems& problems;             // What Kubernetes or a plugin refuses.
  const StatusMessage& status_problem;  // The same of the status write that is meant.
  // The job waits for a read of its newest status: the words by which the API server refuses the read, or empty ones.
  // Null: it waits for none.
  const StatusMessage* doubt = nullptr;
  const PendingActions& pending;
  const DeadlineSet& deadlines;
  const kube::v1::PodGroup* group = nullptr;  // Null: there is none.
  QueueView queue;
  int64_t queue_since_ms = 0;                     // Of its present state or absence; 0: not known.
  std::map<std::string, int64_t> missing_claims;  // When each is tried again, in ms; 0: now, or it is watched.
  std::vector<WaitingCommand> commands;           // That wait for their turn.
  PodFindings pods;
  int64_t kill_since_ms = 0;  // Of the decision that began the present kill; 0: not known.
  RetryTimes retry;
  const job::v1::HistoryEntry* entered_by = nullptr;  // The decision that led to its phase; null: it is not remembered.
  const job::v1::HistoryEntry* restarted_by = nullptr;  // The restart that used up maxRetry, where that ended it.
  int64_t refused_since_ms = 0;                         // Its spec; 0: it is not.
  std::string departure = {};  // Of its spec from the one that was begun with (core/spec_change.h); empty: none.
  int64_t departed_ms = 0;     // Since when.
  int64_t now_ms = 0;
};

// What the scheduler said of the group last; null: nothing, or that it was scheduled (job spec 9.11).
const kube::v1::PodGroupCondition* SchedulersWords(const kube::v1::PodGroup& group);

job::v1::JobExplanation Explain(const ExplainInput& input);

}  // namespace basalt::jobsvc
