#pragma once

// A process of the rig, which controller_rig.cc and rig_context.cc share.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "common/base/random.h"
#include "common/exec/sim_loop.h"
#include "common/testing/controller_rig/controller_rig.h"
#include "common/testing/controller_rig/rig_context.h"

namespace basalt::testing {

inline constexpr absl::Duration kRigLatency = absl::Milliseconds(1);

struct ControllerRig::Process {
  struct Seen {
    int64_t resource_version = 0;
    std::string key;
  };
  Process(SimTime& time, uint64_t seed) : loop(time, "service"), random(seed) {}
  // Destroys the controller before its context, which the controller uses.
  ~Process() { controller.reset(); }

  SimLoop loop;
  SeededRandom random;
  std::unique_ptr<kv::KvStore> store;
  std::unique_ptr<RigContext> context;
  std::map<gateway::v1::ServiceKind, std::unique_ptr<rpc::ServicePeer>> peers;
  std::unique_ptr<runtime::Controller> controller;
  std::map<std::string, Seen> seen;  // The delivered states, by UID.
  std::set<std::string> gone;        // The UIDs whose end was delivered.
  std::set<std::string> interests;
  std::set<std::string> dirty;
  bool round_posted = false;
  std::map<std::string, std::pair<absl::Time, TimerId>> timers;
  std::map<uint32_t, uint64_t> generations;  // Has the slots that were closed or opened since the start.
  std::map<uint32_t, int64_t> epochs;        // Has the same slots. 0 if the slot is closed.
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);
};

}  // namespace basalt::testing
