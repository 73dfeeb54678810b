#pragma once

// What controller_rig.cc and rig_context.cc share: a process of the rig.
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
  // What it is told of is gone when the controller is, and that before its context.
  ~Process() { controller.reset(); }

  SimLoop loop;
  SeededRandom random;
  std::unique_ptr<kv::KvStore> store;
  std::unique_ptr<RigContext> context;
  std::map<gateway::v1::ServiceKind, std::unique_ptr<rpc::ServicePeer>> peers;
  std::unique_ptr<runtime::Controller> controller;
  std::map<std::string, Seen> seen;  // By UID.
  std::set<std::string> gone;        // UIDs.
  std::set<std::string> interests;
  std::set<std::string> dirty;
  bool round_posted = false;
  std::map<std::string, std::pair<absl::Time, TimerId>> timers;
  std::map<uint32_t, uint64_t> generations;  // Of slots that were closed or opened since the start.
  std::map<uint32_t, int64_t> epochs;        // The same; 0: closed.
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);
};

}  // namespace basalt::testing
