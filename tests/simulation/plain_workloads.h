#pragma once

// Plain workloads run beside the jobs: Deployments, ReplicaSets, StatefulSets and batch Jobs, whose pods are grouped.
// Users change and delete these workloads meanwhile.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/random.h"
#include "tests/simulation/probes.h"
#include "tests/simulation/sim_suite.h"

namespace basalt::simulation {

class PlainWorkloads {
 public:
  // `suite` and `probes` outlive this object, which outlives every task in the suite's time.
  PlainWorkloads(uint64_t seed, SimSuite& suite, Probes& probes);

  // Returns true if the seed has workloads. They do not change the runs of the other seeds.
  static bool AreIn(uint64_t seed);
  // Returns true if the rules of all kinds group the pods of Volcano's scheduler in that seed.
  static bool AreRichIn(uint64_t seed);
  // Returns true if that seed has batch Jobs that are suspended and resumed, and owners that are deleted without their
  // pods.
  static bool AreLeftIn(uint64_t seed);

  // Schedules the creation of the workloads and the acts of users. All begin before the end of the faults.
  void Begin();

 private:
  // The values are indices into a table of probes.
  enum class Kind { kDeployment, kReplicaSet, kStatefulSet, kOrderedStatefulSet, kJob };
  struct Workload {
    Kind kind = Kind::kDeployment;
    std::string name;
    std::string resource;  // Such as "deployments.apps".
    std::string path;
    bool is_for_kai = false;
  };

  Workload Plan(int number);
  std::string Manifest(const Workload& workload);
  void ActLater(const Workload& workload);
  void Act(const Workload& workload, uint64_t what);
  void Scale(const Workload& workload);
  void Annotate(const Workload& workload);
  void Roll(const Workload& workload);
  std::vector<std::shared_ptr<const json::value>> PodsOf(const Workload& workload) const;
  void DisturbPods(const Workload& workload, bool deletes);
  void Delete(const Workload& workload);
  void LeavePods(const Workload& workload);
  void Suspend(const Workload& workload, bool suspends);
  void DeleteGroup(const Workload& workload);
  bool IsThere(const Workload& workload) const;
  bool ScalesAndRolls(const Workload& workload) const { return workload.kind != Kind::kJob; }
  // Returns the largest minimum that a gang may have without waiting for pods that are created later.
  int64_t MostTogether(const Workload& workload) const;
  void Patch(const Workload& workload, std::string_view operation, std::string_view path, std::string_view value);
  void After(absl::Duration least, absl::Duration most, std::function<void()> then);

  SeededRandom random_;
  SeededRandom left_;  // The stream of AreLeftIn(), which is separate so that the other seeds remain the same runs.
  const bool leaves_;
  SimSuite& suite_;
  Probes& probes_;
};

// Returns the objects that exist, of all objects of the resource that were ever created.
std::vector<std::shared_ptr<const json::value>> ObjectsEverMade(const kubesim::ApiServer& api,
                                                                std::string_view resource, std::string_view group);
// Returns true if KAI's scheduler places the pod.
bool IsForKai(const json::value& pod);
// Returns the group in the annotation that the pod's scheduler reads. Empty if the pod names no group.
std::string_view GroupNamedBy(const json::value& pod);

}  // namespace basalt::simulation
