#pragma once

// A manifest that somebody brings along, on the whole suite under simulated time, played as its author meant it: how
// long the containers of each task run is told beside it, as images do not say. For one thread.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/json.h"
#include "tests/simulation/sim_suite.h"

namespace basalt::examples {

// `from`, which stands in it once.
std::string Edited(std::string text, std::string_view from, std::string_view to);

class Scene {
 public:
  static constexpr absl::Duration kForEver = absl::Hours(100);
  static constexpr absl::Duration kLimit = absl::Minutes(5);

  // With `workloads` Deployments and others get pods.
  explicit Scene(int nodes = 4, bool workloads = false);

  // Containers of that task, from the next Submit.
  void Run(std::string task, absl::Duration runs, absl::Duration ready_after = absl::ZeroDuration());
  // The job in that manifest; the scene is about it from then on.
  absl::Status Submit(std::string_view yaml);  // Errors: as ReadOneJob.
  // Any other object; as it is stored.
  absl::StatusOr<json::value> Create(const json::value& object);
  // Of a pod that does not run yet.
  void RunPod(const std::string& pod, absl::Duration runs);
  void Evict(const std::string& pod);

  // Looks after whatever happens.
  template <typename Condition>
  bool Until(Condition condition, absl::Duration limit = kLimit) {
    return suite_.time().AdvanceUntil(condition, limit);
  }
  bool Becomes(std::string_view phase, absl::Duration limit = kLimit);
  void Advance(absl::Duration time) { suite_.time().Advance(time); }

  // Of the job.
  std::string Phase() const;
  int64_t Count(std::string_view status_field) const;
  // Of its pods of the task, indices 0 to `replicas` - 1.
  int Pods(std::string_view task, int replicas) const;
  int ReadyPods(std::string_view task, int replicas) const;
  std::string PodName(std::string_view task, int index) const;
  // Of an object, what is at a JSON pointer; null: there is none. `resource` as in ApiServer::Get.
  json::value At(std::string_view resource, std::string_view name, std::string_view pointer) const;
  std::string TextAt(std::string_view resource, std::string_view name, std::string_view pointer) const;
  json::value InPod(const std::string& pod, std::string_view pointer) const { return At("pods", pod, pointer); }
  json::value InGroup(std::string_view pointer) const;
  bool Exists(std::string_view resource, std::string_view name) const;
  // Names of objects that controllers have made and that are there; in the order in which they were made.
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
