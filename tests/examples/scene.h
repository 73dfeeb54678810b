#pragma once

// Runs a manifest of a user on the whole suite under simulated time, as its author meant it. The test states how long
// the containers of each task run, since an image does not. For one thread.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/json.h"
#include "tests/simulation/sim_suite.h"

namespace basalt::examples {

// Replaces `from`, which the text must contain once, with `to`.
std::string Edited(std::string text, std::string_view from, std::string_view to);

class Scene {
 public:
  static constexpr absl::Duration kForEver = absl::Hours(100);
  static constexpr absl::Duration kLimit = absl::Minutes(5);

  // With `workloads`, Deployments and other workloads get pods.
  explicit Scene(int nodes = 4, bool workloads = false);

  // Sets how long the containers of that task run, and when they are ready, from the next Submit on.
  void Run(std::string task, absl::Duration runs, absl::Duration ready_after = absl::ZeroDuration());
  // Submits the job in that manifest. The functions below are about this job from then on. Returns the errors of
  // ReadOneJob.
  absl::Status Submit(std::string_view yaml);
  // Creates any other object and returns it as it is stored.
  absl::StatusOr<json::value> Create(const json::value& object);
  // Sets how long a pod runs that does not run yet.
  void RunPod(const std::string& pod, absl::Duration runs);
  void Evict(const std::string& pod);

  // Advances time until the condition holds, and checks it after each event. Returns false after `limit`.
  template <typename Condition>
  bool Until(Condition condition, absl::Duration limit = kLimit) {
    return suite_.time().AdvanceUntil(condition, limit);
  }
  bool Becomes(std::string_view phase, absl::Duration limit = kLimit);
  void Advance(absl::Duration time) { suite_.time().Advance(time); }

  // Returns the phase of the job.
  std::string Phase() const;
  int64_t Count(std::string_view status_field) const;
  // Returns how many of the task's pods with the indices 0 to `replicas` - 1 exist.
  int Pods(std::string_view task, int replicas) const;
  int ReadyPods(std::string_view task, int replicas) const;
  std::string PodName(std::string_view task, int index) const;
  // Returns an object's value at a JSON pointer, or null if there is none. `resource` is as in ApiServer::Get.
  json::value At(std::string_view resource, std::string_view name, std::string_view pointer) const;
  std::string TextAt(std::string_view resource, std::string_view name, std::string_view pointer) const;
  json::value InPod(const std::string& pod, std::string_view pointer) const { return At("pods", pod, pointer); }
  json::value InGroup(std::string_view pointer) const;
  bool Exists(std::string_view resource, std::string_view name) const;
  // Returns the names of existing objects that were created by requests, in the order of their creation.
  std::vector<std::string> Made(std::string_view resource) const;

 private:
  struct Behaviour {
    absl::Duration runs, ready_after;
  };
  simulation::SimSuite suite_;
  kubesim::ApiServer& api_;
  std::map<std::string, Behaviour> behaviours_;  // By task.
  std::string name_, uid_;
};

}  // namespace basalt::examples
