#pragma once

// The whole suite under simulated time, in one thread, from one seed: the embedded Kubernetes with its actors, a
// gateway, and one replica of each service, each a process (a SimLoop) that can be killed between any two tasks or at
// any write of its store, lose its disk, and start again.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/random.h"
#include "common/exec/sim_loop.h"
#include "common/http/direct_client.h"
#include "common/kv/faulty_kv.h"
#include "common/obs/health.h"
#include "common/obs/metrics.h"
#include "common/rpc/sim_network.h"
#include "common/runtime/replica.h"
#include "common/time/sim_time.h"
#include "gateway/server/gateway.h"
#include "kubesim/actors/client/informer.h"
#include "kubesim/actors/node/node_actor.h"
#include "kubesim/actors/scheduler/gang_scheduler.h"
#include "kubesim/server/api_server.h"
#include "services/jobsvc/control/job_controller.h"
#include "tests/simulation/probes.h"

namespace basalt::simulation {

struct SimSuiteOptions {
  uint64_t seed = 1;
  int nodes = 4;
  rpc::SimNetworkOptions network;
};

// Service programs, in the order in which they are started. The gateway is "gateway".
inline constexpr std::string_view kServices[] = {"jobsvc", "pgsvc", "queuesvc"};

class SimSuite {
 public:
  explicit SimSuite(SimSuiteOptions options);
  ~SimSuite();

  SimTime& time() { return time_; }
  Random& random() { return random_; }
  kubesim::ApiServer& api() { return *api_; }
  rpc::SimNetwork& network() { return *network_; }
  kubesim::NodeActor& nodes() { return *nodes_; }

  // A program that runs is killed and started again. On the disk it had.
  void Start(std::string_view program);
  // kill -9: nothing of it runs after this, what it sent may still arrive.
  void Kill(std::string_view program);
  bool IsRunning(std::string_view program) const;
  // The program dies at its n-th write from now, before or after the bytes are in the store. It is not started again
  // by itself: see Bury.
  void KillAtWrite(std::string_view service, uint64_t n, bool after);
  // Removes programs that have died at a write; their names.
  std::vector<std::string> Bury();
  // Requires: the service does not run.
  void LoseDisk(std::string_view service);
  // What the disk holds now, and later that it holds no more than that: a loss of power takes what was written since,
  // as writes are not synced. Requires: the service does not run.
  std::shared_ptr<kv::MemDisk> CopyDisk(std::string_view service) const;
  void LosePower(std::string_view service, std::shared_ptr<kv::MemDisk> copy);
  bool disk_lost(std::string_view service) const { return lost_disks_.count(std::string(service)) > 0; }

  // Connections of the gateway to the API server.
  http::DirectLink& gateway_link() { return *gateway_link_; }
  void BreakGatewayConnections();

  // Objects as a user's kubectl would create and delete them; not through the gateway.
  std::string CreateObject(std::string_view manifest_json);  // The UID.
  void DeleteObject(std::string_view path);

  // The phase in the stored Job; empty when there is no such job, "-" when it has none yet.
  std::string JobPhase(std::string_view ns, std::string_view name) const;
  // What jobsvc holds, while it runs.
  jobsvc::JobController* jobs() { return job_controller_; }
  const std::shared_ptr<kv::MemDisk>& disk(std::string_view service) const { return disks_.find(service)->second; }

  // What the services' own metrics say of rare branches; complete once they are killed.
  const Probes& probes() const { return probes_; }

  // A hash over every request to the API server, with its time and outcome: equal for equal runs.
  uint64_t TraceHash() const;

 private:
  struct GatewayProcess;
  struct ServiceProcess;

  void StartGateway();
  void StartService(std::string_view service);
  void ReadProbes(ServiceProcess& process);

  const SimSuiteOptions options_;
  SimTime time_;
  SeededRandom random_;
  std::unique_ptr<rpc::SimNetwork> network_;

  SimLoop api_loop_;
  SimLoop actor_loop_;
  SimLoop user_loop_;
  SeededRandom api_random_;
  SeededRandom actor_random_;
  std::unique_ptr<kubesim::ApiServer> api_;
  std::unique_ptr<http::DirectClient> actor_client_;
  std::unique_ptr<http::DirectClient> user_client_;
  std::unique_ptr<kubesim::Informer> pods_;
  std::unique_ptr<kubesim::NodeActor> nodes_;
  std::unique_ptr<kubesim::GangScheduler> scheduler_;
  std::vector<std::unique_ptr<http::Call>> user_calls_;

  std::shared_ptr<http::DirectLink> gateway_link_;
  std::unique_ptr<GatewayProcess> gateway_;
  std::map<std::string, std::unique_ptr<ServiceProcess>, std::less<>> services_;
  std::map<std::string, std::shared_ptr<kv::MemDisk>, std::less<>> disks_;
  std::map<std::string, bool> lost_disks_;
  jobsvc::JobController* job_controller_ = nullptr;
  Probes probes_;
};

// deploy/crds, parsed once.
const std::vector<json::value>& Crds();

}  // namespace basalt::simulation
