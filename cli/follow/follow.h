#pragma once

// Follows jobs on a terminal, in a pipe, or silently until one has reached a phase. Blocking; for one thread.
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/job/v1/job.pb.h"
#include "cli/connect/client.h"

namespace basalt::cli {

struct FollowOptions {
  std::string ns;    // Empty for all namespaces. Required with a name.
  std::string name;  // Empty for all jobs of the namespace.
  // UID of the job to follow. An earlier job of the same name is ignored. A later one shows that this job is gone, and
  // so does GetJob if no job of the name is found. If `uid` is empty, the first job of the name that the watch
  // publishes is followed or, with `must_exist`, the one that GetJob finds.
  std::string uid;
  int64_t version = 0;  // The resourceVersion of the job `uid` when it was made.
  // Following ends when the job's phase satisfies `until`. Null if no phase ends it. Requires a name.
  std::function<bool(kube::v1::JobPhase)> until;
  std::string awaited;                           // The phases of `until`, for messages.
  bool must_exist = false;                       // NOT_FOUND if there is no such job to begin with.
  bool quiet = false;                            // Prints nothing.
  std::string output;                            // "json", "yaml", or empty for people.
  absl::Time deadline = absl::InfiniteFuture();  // DEADLINE_EXCEEDED then, or UNAVAILABLE if no replica answers.
  std::string timeout;                           // The value of --timeout, for messages.
};

// Returns the phase that satisfied `until`. NOT_FOUND if the job was deleted. At the deadline the message states the
// last phase of the job, or for how long no replica has answered. On a terminal a table is redrawn in place; elsewhere
// each change is a line. If a replica ends, following continues at another one by the token, for some minutes; a line
// on stderr says so.
absl::StatusOr<kube::v1::JobPhase> Follow(JobClient& client, const FollowOptions& follow);

// Returns the present phase of the job if it satisfies `until`, else DEADLINE_EXCEEDED with a message as of Follow().
// NOT_FOUND names the job.
absl::StatusOr<kube::v1::JobPhase> LookOnce(JobClient& client, const FollowOptions& follow);

}  // namespace basalt::cli
