#pragma once

// The whole suite under simulated time, in one thread, from one seed: the embedded Kubernetes with its actors,
// gateways, and replicas of each service, each a process (a SimLoop) on a host of its own that can be killed between
// any two tasks or at any write of its store, shut down, paused, cut off, lose its disk, and start again.
//
// Hosts are named gateway-0, jobsvc-0, jobsvc-1, …: program and number. A host is joined from its first start until it
// leaves; what it had on its disk stays there.
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/rpc/sim/sim_network.h"
#include "common/time/sim_time.h"
#include "kubesim/actors/client/informer.h"
#include "kubesim/actors/node/node_actor.h"
#include "kubesim/actors/scheduler/gang_scheduler.h"
#include "kubesim/actors/workloads/workloads.h"
#include "kubesim/server/api_server.h"
#include "tests/simulation/host.h"
#include "tests/simulation/probes.h"

namespace basalt::simulation {

// Service programs, in the order in which they are started. Gateways are "gateway".
inline constexpr std::string_view kServices[] = {"jobsvc", "pgsvc", "queuesvc"};
inline constexpr std::string_view kGateway = "gateway";
inline constexpr int kMostReplicas = 5;
inline constexpr std::string_view kWithoutRecords = "slot went on without its records";

struct SimSuiteOptions {
  uint64_t seed = 1;
  int nodes = 4;
  rpc::SimNetworkOptions network;
  std::array<int, 3> replicas = {1, 1, 1};  // That run from the start; in the order of kServices.
  int gateways = 1;
  bool workloads = false;   // Deployments and others get pods, for either scheduler.
  bool is_rich = false;     // Their pods of Volcano's are grouped by the rules of all kinds (gateway::RouteOptions).
  absl::Duration max_skew;  // Of a host's clock, in either direction.
  double max_drift = 0;
  absl::Duration collection_pause;  // After each pod that the API server deletes together with others.
  std::map<std::string, absl::Duration> clocks_ahead;  // Of nodes.
  absl::Duration gc_delay;                             // Until the garbage collector looks at what has changed.
};

class SimSuite {
 public:
  explicit SimSuite(SimSuiteOptions options);
  ~SimSuite();

  SimTime& time() { return time_; }
  Random& random() { return random_; }
  kubesim::ApiServer& api() { return *api_; }
  rpc::SimNetwork& network() { return *network_; }
  const SimSuiteOptions& options() const { return options_; }

  // ---- hosts ----

  void StartAll();
  // A process that runs there is killed first. On the disk that the host has.
  void Start(std::string_view host);
  // kill -9: nothing of it runs after this, what it sent may still arrive.
  void Kill(std::string_view host);
  // SIGTERM: the replica hands over what it has and ends; it is not joined any more.
  void Leave(std::string_view host);
  // The same of any process, which stays joined: a replica gives its slots away and drains, a gateway drains and gives
  // its lead back. As by a kubelet it is killed when its time is over: see overdue. Requires: it runs, is not paused
  // and is not shutting down.
  void ShutDown(std::string_view host);
  bool IsShuttingDown(std::string_view host) const;
  // It is shutting down, or has done so and was not started since.
  bool WasShutDown(std::string_view host) const;
  // Whether that other replica of its service is one to which slots belong, as `host` knows it. Requires: it runs.
  bool IsMemberAt(std::string_view host, std::string_view name) const;
  // Of that gateway at the API server.
  double WritesUnderWay(std::string_view gateway) const;
  // SIGSTOP and SIGCONT.
  void Pause(std::string_view host);
  void Resume(std::string_view host);
  bool IsJoined(std::string_view host) const { return HostOf(host).joined; }
  bool IsRunning(std::string_view host) const { return HostOf(host).is_running(); }
  bool IsPaused(std::string_view host);
  // The process dies at its n-th write from now, before or after the bytes are in the store. It is not started again
  // by itself: see Bury.
  void KillAtWrite(std::string_view host, uint64_t n, bool after);
  // The same before the first write from now that is about a job or a pod: what was heard of them is not recorded.
  void KillAtRecord(std::string_view host);
  // Removes processes that have died at a write; their hosts.
  std::vector<std::string> Bury();

  // Requires: nothing runs there.
  void LoseDisk(std::string_view host);
  // What the disk holds now, and later that it holds no more than that: a loss of power takes what was written since,
  // as writes are not synced. Requires: nothing runs there.
  std::shared_ptr<kv::MemDisk> CopyDisk(std::string_view host) const { return kv::CopyMemDisk(*disk(host)); }
  void LosePower(std::string_view host, std::shared_ptr<kv::MemDisk> copy);
  // Of any host of that service.
  bool disk_lost(std::string_view service) const;
  const std::shared_ptr<kv::MemDisk>& disk(std::string_view host) const { return HostOf(host).disk; }

  // Those that are joined; all that have ever been; one that has never been, or has left (empty: there is none).
  std::vector<std::string> Joined(std::string_view program) const;
  std::vector<std::string> Joined() const;
  std::vector<std::string> EverStarted(std::string_view program) const;
  std::string NextToJoin(std::string_view service) const;

  // Who holds the Lease of the gateways, as it stands there; empty: nobody.
  std::string Leader() const;
  // The way of a gateway to the API server: open connections break, new ones fail until it is mended.
  void CutApi(std::string_view gateway, bool cut);

  // Whose the key is, as that replica knows it; empty: it knows nobody. Requires: it runs.
  std::string OwnerAt(std::string_view host, std::string_view key) const;
  // The same, as some replica of the service that runs knows it.
  std::string OwnerOf(std::string_view service, std::string_view key);
  // What the processes that should run wait for, in words.
  std::vector<std::string> Problems() const;
  // What jobsvc has in memory there, while it runs; else null.
  const jobsvc::JobController* JobsAt(std::string_view host) const;

  // ---- the world ----

  // Objects as a user's kubectl would create, delete and edit them; not through the gateway.
  std::string CreateObject(std::string_view manifest_json);  // The UID.
  void DeleteObject(std::string_view path);
  // The one of that UID and no other.
  void DeleteObject(std::string_view path, std::string_view uid, std::string_view propagation);
  void PatchObject(std::string_view path, std::string_view json_patch);

  // What Kubernetes does to a pod of namespace default that runs: see NodeActor.
  void DisruptPod(std::string pod, std::string reason);
  void EvictPod(std::string pod);

  // The phase in the stored Job; empty when there is no such job, "-" when it has none yet.
  std::string JobPhase(std::string_view ns, std::string_view name) const;
  // The job of that UID, while it is there, in namespace default. Another one may have had its name, or have it now.
  std::shared_ptr<const json::value> JobOf(std::string_view name, std::string_view uid) const;
  std::string PhaseOf(std::string_view name, std::string_view uid) const;  // As JobPhase.

  // What the services' own metrics say of rare branches; complete once they are killed.
  const Probes& probes() const { return probes_; }
  // What gateways have refused though only their own replicas asked, as lines of metrics; complete once they are
  // killed.
  const std::vector<std::string>& denied() const { return denied_; }
  // How often a slot of the service has gone on without the records of the owner before, which had some.
  uint64_t SlotsWithoutRecords(const std::string& service) const;
  // Shutdowns that took longer than they may, though the process was never paused meanwhile, in words.
  const std::vector<std::string>& overdue() const { return overdue_; }
  bool RecordsLost(const std::string& service, uint32_t slot) const { return records_lost_.contains({service, slot}); }

  // The gateway that leads has the pod as Failed: whoever owns its job is to hear of it, also once it is deleted.
  bool IsSeenFailed(std::string_view pod_uid) const;
  // Such a pod is to be deleted now.
  struct SeenFailure {
    absl::Time time;
    std::string uid;
  };
  void NoteSeenFailure(std::string uid) { seen_failures_.push_back({time_.Now(), std::move(uid)}); }
  const std::vector<SeenFailure>& seen_failures() const { return seen_failures_; }
  // Nothing has happened in between that may take back what a gateway or a replica has heard, however long a replica
  // was down.
  bool NothingForgotten(absl::Time from, absl::Time until) const;

  // What became of the hosts, for people.
  struct Event {
    absl::Time time;
    std::string what;
  };
  void Note(std::string what) { events_.push_back({time_.Now(), std::move(what)}); }
  const std::vector<Event>& events() const { return events_; }

  // A hash over every request to the API server, with its time and outcome: equal for equal runs.
  uint64_t TraceHash() const;

 private:
  Host& HostOf(std::string_view host) { return hosts_.find(host)->second; }
  const Host& HostOf(std::string_view host) const { return hosts_.find(host)->second; }
  void AddHost(std::string_view program, int number);
  void StartGateway(const std::string& name, Host& host);
  void StartService(const std::string& name, Host& host);
  // sim_shutdown.cc
  void ShutDownService(const std::string& name, Host& host);
  void ShutDownGateway(const std::string& name, Host& host);
  void LookAtMoves(const std::string& name);
  void FinishShutdown(const std::string& name, uint64_t number);
  void InterruptShutdown(Host& host);
  bool OthersRun(std::string_view name) const;

  void ReadProbes(obs::Metrics& metrics);
  void ReadDenied(const obs::Metrics& metrics);
  void Ask(std::string_view method, std::string_view path, std::string_view body, std::string_view type);

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
  std::unique_ptr<actors::Workloads> workloads_;  // Null: they get none.
  std::vector<std::unique_ptr<http::Call>> user_calls_;

  std::map<std::string, Host, std::less<>> hosts_;
  std::map<std::pair<std::string, uint32_t>, uint64_t> records_lost_;  // How often a slot went on without, by service.
  std::vector<std::string> denied_;
  bool has_lost_disk_ = false;
  std::vector<std::string> overdue_;
  Probes probes_;
  std::vector<Event> events_;
  std::vector<SeenFailure> seen_failures_;
};

}  // namespace basalt::simulation
