#pragma once

// One host of the simulation: its name, clock, disk and link to the API server, which outlive a process, and the
// process that runs there, if any. For sim_suite.cc.
#include <memory>
#include <string>

#include "common/base/random.h"
#include "common/exec/sim_loop.h"
#include "common/http/direct_client.h"
#include "common/kv/faulty_kv.h"
#include "common/obs/health.h"
#include "common/obs/metrics.h"
#include "common/rpc/sim/sim_network.h"
#include "common/runtime/replica.h"
#include "gateway/server/gateway.h"
#include "services/jobsvc/control/job_controller.h"

namespace basalt::simulation {

struct GatewayProcess {
  GatewayProcess(SimTime& time, const std::string& name, SimClock clock, uint64_t seed)
      : loop(time, name, clock), random(seed), metrics(obs::MakeMetrics()) {}
  SimLoop loop;
  SeededRandom random;
  std::unique_ptr<obs::Metrics> metrics;
  obs::Health health;
  std::unique_ptr<http::DirectClient> client;
  std::unique_ptr<gateway::Gateway> gateway;
};

struct ServiceProcess {
  ServiceProcess(SimTime& time, const std::string& name, SimClock clock, uint64_t seed);
  ~ServiceProcess();

  SimLoop loop;
  SeededRandom random;
  std::unique_ptr<obs::Metrics> metrics;
  obs::Health health;
  std::unique_ptr<jobsvc::JobMetrics> job_metrics;
  std::unique_ptr<jobsvc::KeyMaker> keys;
  std::unique_ptr<kv::FaultyKv> store;
  uint64_t die_at = 0;  // The number of the write at which the process dies. 0 = never.
  bool die_after = false;
  bool die_at_record = false;
  bool dead = false;
  std::unique_ptr<rpc::GatewayPeer> gateway;
  std::unique_ptr<rpc::PeerDirectory> peers;
  std::unique_ptr<runtime::Replica> replica;
  std::unique_ptr<rpc::PodGroupHandler> pod_groups;
  jobsvc::JobController* jobs = nullptr;  // Null unless the service is jobsvc.
};

// The state of the last shutdown of a host's process, since the host was started.
struct Shutdown {
  uint64_t number = 0;  // The number of this shutdown among all shutdowns of the host.
  bool under_way = false;
  bool done = false;
  bool gives_away = false;  // True while slots go to other replicas, or the lead is given back, during the shutdown.
  bool was_paused = false;
};

struct Host {
  std::string program;
  SimClock clock;
  bool joined = false;   // The host is meant to run: a process that died is started again.
  bool started = false;  // A process has run on the host at some time.
  int lives = 0;         // The number of starts of a service on the host.
  std::shared_ptr<kv::MemDisk> disk = kv::MakeMemDisk();
  bool disk_lost = false;
  Shutdown shutdown;
  std::shared_ptr<http::DirectLink> api = std::make_shared<http::DirectLink>();
  std::unique_ptr<GatewayProcess> gateway;
  std::unique_ptr<ServiceProcess> service;

  bool is_running() const { return gateway != nullptr || (service != nullptr && !service->dead); }
  SimLoop* loop() { return gateway != nullptr ? &gateway->loop : service != nullptr ? &service->loop : nullptr; }
};

}  // namespace basalt::simulation
