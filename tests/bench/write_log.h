#pragma once

// Reads the writes of an API server, each with its client, from kubesim's log of requests or a real server's audit log,
// and computes figures from them. Pure.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/base/json.h"
#include "tests/realkube/cluster.h"

namespace basalt::bench {

struct LoggedWrite {
  absl::Time time;  // When the API server had done the write.
  std::string verb, resource, subresource, name, user_agent;
  int code = 0;
  // The phase of a job, a pod or a pod group that the body sets. Empty if the log does not show the body.
  std::string phase;
  // The number of running pod groups that the body sets in a queue.
  int64_t running = 0;
  bool ours = false;  // The write comes from an owner of slots, through the gateway.
  bool succeeded() const { return code >= 200 && code < 300; }
};

// Returns the writes among the "requests" of GET /kubesim/log.
std::vector<LoggedWrite> WritesOfKubesim(const json::value& log);
// Returns the writes among the lines from number `from` on.
std::vector<LoggedWrite> WritesOfAudit(const std::vector<realkube::AuditLine>& lines, size_t from);

// Counts of our writes, without Events.
struct Tally {
  int writes = 0;  // Includes refused writes.
  int events = 0;  // Events, which no other count includes.
  int status_updates = 0;
  int queues = 0;                      // Status writes of queues, which the queues' jobs share.
  int conflicts = 0;                   // Creates that were answered 409.
  int refused = 0;                     // Writes that were answered 4xx or 5xx.
  std::map<std::string, int> by_kind;  // "create pods" -> number. A refused kind ends in " -> code".
};
// With `lists_events`, `by_kind` includes Events.
Tally Count(const std::vector<LoggedWrite>& log, bool lists_events = false);
// Formats the counts by kind, each divided by `per`: "10 create pods, 4 patch jobs/status".
std::string KindsOf(const Tally& tally, int per = 1);

// Returns the job's name from the name of a pod of task "t": "work-7-t-12" -> "work-7".
std::string_view JobOfPod(std::string_view pod);
// Returns the queue's name from the name of its pod group: "queue-7-g-0" -> "queue-7".
std::string_view QueueOfGroup(std::string_view group);

// A burst of changes: pods of a job were made, changed or removed by any client, with less than two seconds between two
// changes.
struct Burst {
  absl::Time first, last;
  int changes = 0;
  absl::Duration length() const { return last - first; }
};
std::vector<Burst> BurstsOf(const std::vector<LoggedWrite>& log, std::string_view job);
// Returns the number of status writes that the bursts may cost beyond the fixed ones: one for every five seconds of a
// burst.
int MoreWritesFor(const std::vector<Burst>& bursts);

// For each job whose only pod the client `ends` ended, returns the time from that write to the write of the job's
// status Completed, by our processes or, if `completes` is given, by the client of that name. The times are in the
// order of the pods' ends. A time is infinite if the job was not completed.
std::vector<absl::Duration> TimesToCompleted(const std::vector<LoggedWrite>& log, std::string_view ends,
                                             std::string_view completes = {});

// Times from an edit of a job's spec to its effects, in the order of the edits. An effect is a write of ours that
// makes, changes or removes an object of the job; writes of the status and of Events are none. A time is infinite if
// there is no such effect before the next edit of the job.
struct TimesToEffect {
  std::vector<absl::Duration> any;     // To the first effect.
  std::vector<absl::Duration> plugin;  // To the first write of a plugin's object.
  std::vector<absl::Duration> pod;     // To the first write of a pod.
};
// Returns the times for the edits by the client `edits`.
TimesToEffect TimesFromEdits(const std::vector<LoggedWrite>& log, std::string_view edits);

// For each change of a pod group to Running by the client `changes`, returns the time from that write to the first
// status of the group's queue that counts the change. A time is infinite if there is no such status. Requires: no group
// was Running before the log begins, and no group stops running within the log.
std::vector<absl::Duration> TimesToCount(const std::vector<LoggedWrite>& log, std::string_view changes);

// Our status writes of queues.
struct StatusWrites {
  int writes = 0;
  int queues = 0;  // Queues whose status was written.
  // The highest rate of a queue: its writes so far, divided by one second more than the time from its first write.
  double most_per_second = 0;
  // The shortest time between two writes of one queue.
  absl::Duration least = absl::InfiniteDuration();
};
StatusWrites StatusWritesOf(const std::vector<LoggedWrite>& log);

// Returns the smallest of `values` that at least the fraction `part` of them does not exceed. Requires: `values` is not
// empty.
absl::Duration Percentile(std::vector<absl::Duration> values, double part);

}  // namespace basalt::bench
