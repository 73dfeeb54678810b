#pragma once

// Jobs of one task "t" as the benches send them, and what is done to them. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/base/json.h"
#include "kubesim/actors/client/api.h"

namespace basalt::bench {

struct JobShape {
  int pods = 1;
  bool svc = false;                        // The plugin, which makes three objects.
  absl::Duration runs = absl::Seconds(4);  // Each pod, from its start; then it has succeeded.
};

inline constexpr int kSvcObjects = 3;  // ConfigMap, Service, NetworkPolicy.
inline constexpr absl::Duration kUntilStopped = absl::Hours(10);

std::string JobName(std::string_view prefix, int number);
actors::ApiRequest CreateJob(const std::string& name, const JobShape& shape);
std::vector<actors::ApiRequest> CreateJobs(std::string_view prefix, int count, const JobShape& shape);
struct BoundPod {
  std::string name, node;
  std::string job, job_uid;  // Whose it says that it is: one that is there and has ended.
  absl::Duration runs;
};
// Runs on its node without a scheduler.
actors::ApiRequest CreateBoundPod(const BoundPod& pod);
// What a controller writes when a job of one pod has ended.
actors::ApiRequest CompleteJob(std::string_view job);
actors::ApiRequest DeleteGroup(std::string_view job, std::string_view uid);
// What a controller writes when a job's only pod has come to that phase; see Bed::ReplaceOurs.
std::vector<actors::ApiRequest> CompleteJobOf(const struct View& view, std::string_view pod, std::string_view phase);
// The job's task has so many pods from now on.
actors::ApiRequest ScaleJob(const std::string& job, int pods);
// The job's first pod has succeeded, as a node would write it.
actors::ApiRequest EndPod(const std::string& job);
// The Command that asks for the action; `target`: a reference to the object, as its owner. Twice the same is one.
actors::ApiRequest CreateCommand(const std::string& object, std::string_view action, json::object target);
// As `vcctl job suspend` asks for it.
actors::ApiRequest AbortJob(const std::string& job, const std::string& uid);

}  // namespace basalt::bench
