#pragma once

// What may become of a job, from job spec 6 and 8 alone and written a second time: for pods without timeouts, commands
// or edits, every phase that some delivery of the facts leads to. Facts that happen together are delivered in any order
// and merged in any way; an action may find the one before over or not.
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::jobsvc::testing {

// The end of a pod that was running.
struct Fact {
  enum class What { kSuccess, kFailure, kEviction } what = What::kSuccess;
  int task = 0;
  int index = 0;
  int exit_code = 0;
};

class ReferenceModel {
 public:
  // Every pod runs. `spec` outlives the model and has every default filled in.
  explicit ReferenceModel(const kube::v1::JobSpec& spec);

  // Together; all that follows is over before the next, and every pod runs again. `may_lose`: nobody may have noticed
  // that a pod was evicted.
  void Happen(const std::vector<Fact>& facts, bool may_lose);

  std::set<kube::v1::JobPhase> Phases() const;

 private:
  // Of a pod; capitals: kept by a kill, of an older version.
  enum Cell : char { kAlive = 'a', kGone = 'g', kDone = 's', kBroken = 'f', kKeptDone = 'S', kKeptBroken = 'F' };
  struct World {
    kube::v1::JobPhase phase = kube::v1::JOB_PHASE_RUNNING;
    int retries = 0;
    std::vector<std::string> cells;  // Of each task, by index.
    friend auto operator<=>(const World&, const World&) = default;
  };
  struct Event {
    std::string_view kind;
    Fact fact;
  };

  void Deliver(const World& world, const std::vector<Fact>& left, std::set<World>& ends) const;
  void DeliverBatch(World world, const std::vector<Fact>& batch, const std::vector<Fact>& left,
                    std::set<World>& ends) const;
  std::string ActionFor(const Event& event) const;
  // `killed`: -1, -1 stands for all; `keeps`: but what has finished.
  void Carry(const std::string& action, const Event& event, World& world, std::set<std::pair<int, int>>& killed,
             bool& keeps) const;
  bool IsComplete(const World& world, int task) const;
  void Rest(World& world) const;
  void Run(World& world) const;

  const kube::v1::JobSpec& spec_;
  std::set<World> worlds_;
};

}  // namespace basalt::jobsvc::testing
