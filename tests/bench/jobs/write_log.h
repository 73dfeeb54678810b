#pragma once

// What an API server has written on whose order, from kubesim's log of requests or a real one's audit log, and what
// follows from it. Pure.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/base/json.h"
#include "tests/realkube/cluster.h"

namespace basalt::bench {

struct LoggedWrite {
  absl::Time time;  // The API server had done it.
  std::string verb, resource, subresource, name, user_agent;
  int code = 0;
  // What a body sets, where the log shows it: the phase of a job, a pod or a pod group, and of a queue how many of its
  // pod groups run.
  std::string phase;
  int64_t running = 0;
  bool ours = false;  // Of an owner of slots, through the gateway.
  bool succeeded() const { return code >= 200 && code < 300; }
};

// The "requests" of GET /kubesim/log.
std::vector<LoggedWrite> WritesOfKubesim(const json::value& log);
// Of the lines from number `from` on; reads are left out.
std::vector<LoggedWrite> WritesOfAudit(const std::vector<realkube::AuditLine>& lines, size_t from);

// Our writes, Events left out.
struct Tally {
  int writes = 0;  // Answered or refused.
  int status_updates = 0;
  int queues = 0;                      // Status of queues, which their jobs share.
  int conflicts = 0;                   // Creates that were answered 409.
  int refused = 0;                     // Any 4xx or 5xx.
  std::map<std::string, int> by_kind;  // "create pods" -> number; a refused one has " -> code" behind it.
};
Tally Count(const std::vector<LoggedWrite>& log);
// "10 create pods, 4 patch jobs/status", each divided by `per`.
std::string KindsOf(const Tally& tally, int per = 1);

// A pod of a task "t" is named after its job: "work-7-t-12" -> "work-7".
std::string_view JobOfPod(std::string_view pod);

// Times at which pods of the job were made, changed or removed, by anybody: bursts of them, with less than two seconds
// between neighbours.
struct Burst {
  absl::Time first, last;
  int changes = 0;
  absl::Duration length() const { return last - first; }
};
std::vector<Burst> BurstsOf(const std::vector<LoggedWrite>& log, std::string_view job);
// How many status writes more than the fixed ones those may cost: one for every five seconds that a burst goes on.
int MoreWritesFor(const std::vector<Burst>& bursts);

// Of each job with one pod that `ends` ended: from that write to the status of the job that says Completed, by ours or,
// where it is given, by whoever calls itself `completes`. In order of the first. Infinite: there is none.
std::vector<absl::Duration> TimesToCompleted(const std::vector<LoggedWrite>& log, std::string_view ends,
                                             std::string_view completes = {});

// Of each edit of a job's spec by `edits`: from that write to the first of ours that makes, changes or removes an
// object of the job, to the first of an object of a plugin, and to the first of a pod. The status and Events are no
// effects. In order of the edits. Infinite: there is none before the next edit of the job.
struct TimesToEffect {
  std::vector<absl::Duration> any, plugin, pod;
};
TimesToEffect TimesFromEdits(const std::vector<LoggedWrite>& log, std::string_view edits);

// The smallest of `values` that is not below `part` of them. Requires: there are some.
absl::Duration Percentile(std::vector<absl::Duration> values, double part);

}  // namespace basalt::bench
