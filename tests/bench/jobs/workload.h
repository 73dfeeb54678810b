#pragma once

// The benches' requests: jobs of one task "t", and changes of these jobs. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/base/json.h"
#include "kubesim/actors/client/api.h"

namespace basalt::bench {

struct JobShape {
  int pods = 1;
  bool svc = false;                        // The job has the plugin, which makes three objects.
  absl::Duration runs = absl::Seconds(4);  // Time from a pod's start to its success. Zero: that of the nodes.
  std::string queue = "default";
};

inline constexpr int kSvcObjects = 3;  // ConfigMap, Service, NetworkPolicy.
inline constexpr absl::Duration kUntilStopped = absl::Hours(10);

std::string JobName(std::string_view prefix, int number);
actors::ApiRequest CreateJob(const std::string& name, const JobShape& shape);
std::vector<actors::ApiRequest> CreateJobs(std::string_view prefix, int count, const JobShape& shape);
struct BoundPod {
  std::string name, node;
  std::string job, job_uid;  // The owner that the pod names: a job that exists and has ended.
  absl::Duration runs;
};
// Creates a pod that runs on its node without a scheduler.
actors::ApiRequest CreateBoundPod(const BoundPod& pod);
// Writes a status Completed for a job of one pod, as a controller would.
actors::ApiRequest CompleteJob(std::string_view job);
// Deletes the job's pod group, as a controller would.
actors::ApiRequest DeleteGroup(std::string_view job, std::string_view uid);
// Returns the two writes above if a job's only pod enters the phase Succeeded, and none for other phases; see
// Bed::ReplaceOurs.
std::vector<actors::ApiRequest> CompleteJobOf(const struct View& view, std::string_view pod, std::string_view phase);
// Sets the number of pods of the job's task.
actors::ApiRequest ScaleJob(const std::string& job, int pods);
// Writes, as a node would, that the job's first pod has succeeded.
actors::ApiRequest EndPod(const std::string& job);
// Creates the Command that requests the action. `target` is a reference to the object, as its owner. Two equal calls
// make one Command.
actors::ApiRequest CreateCommand(const std::string& object, std::string_view action, json::object target);
// Requests the abort as `vcctl job suspend` does.
actors::ApiRequest AbortJob(const std::string& job, const std::string& uid);

}  // namespace basalt::bench
