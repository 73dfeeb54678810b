#pragma once

// Following jobs on a terminal, in a pipe, or silently until one is where it is waited for. Blocking; for one thread.
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "basalt/job/v1/job.pb.h"
#include "cli/connect/client.h"

namespace basalt::cli {

struct FollowOptions {
  std::string ns;    // Empty: all. Needed with a name.
  std::string name;  // Empty: all jobs of the namespace.
  // Of the job that is meant, and the resourceVersion with which it was made: one that was there before it is not told
  // of, one that comes after it says that it is gone, as does that nobody knows of it. Empty: the first of its name
  // that is shown is meant, or that is there, where it has to be.
  std::string uid;
  int64_t version = 0;
  std::function<bool(kube::v1::JobPhase)> until;  // Ends it; null: nothing does. Needs a name.
  std::string awaited;                            // The phases that `until` is about, for people.
  bool must_exist = false;                        // NOT_FOUND where there is no such job to begin with.
  bool quiet = false;                             // Prints nothing.
  std::string output;                             // Empty: for people, json or yaml.
  absl::Time deadline = absl::InfiniteFuture();   // DEADLINE_EXCEEDED then, or UNAVAILABLE if nobody answers.
  std::string timeout;                            // How people said it.
};

// The phase that ended it. NOT_FOUND: the job that is waited for was deleted. At the deadline the message says in which
// phase the job was last, or for how long nobody has answered. On a terminal the picture is drawn anew in place;
// elsewhere each change is a line. Goes on by its token where a replica ends, for some minutes, and says so on stderr.
absl::StatusOr<kube::v1::JobPhase> Follow(JobClient& client, const FollowOptions& follow);

// The phase in which the job is at present, if it is one that ends following; else DEADLINE_EXCEEDED, as there.
// NOT_FOUND names the job.
absl::StatusOr<kube::v1::JobPhase> LookOnce(JobClient& client, const FollowOptions& follow);

}  // namespace basalt::cli
