#pragma once

// Plain workloads beside the jobs of a run: Deployments, ReplicaSets, StatefulSets and batch Jobs whose pods are placed
// in groups, and what users do to them meanwhile.
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
  // Both outlive it, and it outlives every task in the suite's time.
  PlainWorkloads(uint64_t seed, SimSuite& suite, Probes& probes);

  // Whether the seed has any. What a run without them does is the same whether or not others have them.
  static bool AreIn(uint64_t seed);
  // Whether their pods of Volcano's are grouped by the rules of all kinds there.
  static bool AreRichIn(uint64_t seed);
  // Whether batch Jobs are suspended and resumed there, and owners deleted whose pods stay.
  static bool AreLeftIn(uint64_t seed);

  // What is made and done, in times from now that lie before the end of the faults.
  void Begin();

 private:
  // The numbers are places in a table.
  enum class Kind { kDeployment, kReplicaSet, kStatefulSet, kOrderedStatefulSet, kJob };
  struct Workload {
    Kind kind = Kind::kDeployment;
    std::string name;
    std::string resource;  // "deployments.apps"
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
  // What a gang may ask for without waiting for pods that come after it.
  int64_t MostTogether(const Workload& workload) const;
  void Patch(const Workload& workload, std::string_view operation, std::string_view path, std::string_view value);
  void After(absl::Duration least, absl::Duration most, std::function<void()> then);

  SeededRandom random_;
  SeededRandom left_;  // Of what AreLeftIn says: its own, so that the seeds without stay the runs that they were.
  const bool leaves_;
  SimSuite& suite_;
  Probes& probes_;
};

// The pods and pod groups that are there, of all that were ever made.
std::vector<std::shared_ptr<const json::value>> ObjectsEverMade(const kubesim::ApiServer& api,
                                                                std::string_view resource, std::string_view group);
// Whether KAI's scheduler places the pod.
bool IsForKai(const json::value& pod);
// By the annotation that its scheduler reads; empty: the pod names none.
std::string_view GroupNamedBy(const json::value& pod);

}  // namespace basalt::simulation
