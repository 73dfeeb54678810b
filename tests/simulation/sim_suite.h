#pragma once

// Runs the whole suite under simulated time, in one thread and from one seed: the embedded Kubernetes with its actors,
// gateways, and replicas of each service. Each gateway or replica is a process (a SimLoop) on a host of its own. A
// process can be killed between any two tasks or at any write of its store, shut down, paused, cut off, lose its disk,
// and start again.
//
// The name of a host is a program and a number: gateway-0, jobsvc-0, jobsvc-1, … A host is joined from its first start
// until it leaves. Its disk remains when a process ends.
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

// Service programs, in the order of their start. Gateways are "gateway".
inline constexpr std::string_view kServices[] = {"jobsvc", "pgsvc", "queuesvc"};
inline constexpr std::string_view kGateway = "gateway";
inline constexpr int kMostReplicas = 5;
inline constexpr std::string_view kWithoutRecords = "slot went on without its records";

struct SimSuiteOptions {
  uint64_t seed = 1;
  int nodes = 4;
  rpc::SimNetworkOptions network;
  std::array<int, 3> replicas = {1, 1, 1};  // Replicas that run from the start, in the order of kServices.
  int gateways = 1;
  bool workloads = false;  // Deployments and others get pods, for either scheduler.
  // The rules of all kinds group workloads' pods of Volcano's scheduler (gateway::RouteOptions).
  bool is_rich = false;
  absl::Duration max_skew;  // The largest skew of a host's clock, in either direction.
  double max_drift = 0;
  absl::Duration collection_pause;                     // The pause after each pod of a deletecollection.
  std::map<std::string, absl::Duration> clocks_ahead;  // By how much the clocks of nodes are ahead.
  absl::Duration gc_delay;                             // The time until the garbage collector reacts to a change.
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
  // Starts a process on the host's disk. A process that runs there is killed first.
  void Start(std::string_view host);
  // Sends SIGKILL: no task of the process runs afterwards, but messages that it has sent may still arrive.
  void Kill(std::string_view host);
  // Sends SIGTERM: the replica hands its slots over and ends. The host is not joined any more.
  void Leave(std::string_view host);
  // Shuts down any process, which stays joined. A replica gives its slots away and drains; a gateway drains and gives
  // its lead back. The process is killed at the end of its grace period, as by a kubelet: see overdue(). Requires: the
  // process runs, is not paused and is not shutting down.
  void ShutDown(std::string_view host);
  bool IsShuttingDown(std::string_view host) const;
  // Returns true if the process is shutting down, or has shut down and was not started since.
  bool WasShutDown(std::string_view host) const;
  // Returns true if slots may belong to `name`, another replica of the service, according to `host`. Requires: `host`
  // runs.
  bool IsMemberAt(std::string_view host, std::string_view name) const;
  // Returns the number of writes of that gateway that are in flight to the API server.
  double WritesUnderWay(std::string_view gateway) const;
  // Sends SIGSTOP.
  void Pause(std::string_view host);
  // Sends SIGCONT.
  void Resume(std::string_view host);
  bool IsJoined(std::string_view host) const { return HostOf(host).joined; }
  bool IsRunning(std::string_view host) const { return HostOf(host).is_running(); }
  bool IsPaused(std::string_view host);
  // The process dies at its n-th write from now, before or after the bytes are in the store. The process is not started
  // again by itself: see Bury(). With n = 0, it does not die.
  void KillAtWrite(std::string_view host, uint64_t n, bool after);
  // The process dies before its next write about a job or a pod, so that the news about these is not recorded.
  void KillAtRecord(std::string_view host);
  // Removes the processes that have died at a write. Returns their hosts.
  std::vector<std::string> Bury();

  // Replaces the disk by an empty one. Requires: no process runs there.
  void LoseDisk(std::string_view host);
  // Returns a copy of the disk.
  std::shared_ptr<kv::MemDisk> CopyDisk(std::string_view host) const { return kv::CopyMemDisk(*disk(host)); }
  // Replaces the disk by an earlier copy: a loss of power takes the later writes, which are not synced. Requires: no
  // process runs there.
  void LosePower(std::string_view host, std::shared_ptr<kv::MemDisk> copy);
  // Returns true if any host of the service has lost its disk.
  bool disk_lost(std::string_view service) const;
  const std::shared_ptr<kv::MemDisk>& disk(std::string_view host) const { return HostOf(host).disk; }

  // Returns the joined hosts of the program; of all programs if `program` is empty.
  std::vector<std::string> Joined(std::string_view program) const;
  std::vector<std::string> Joined() const;
  // Returns the hosts of the program that have ever been started.
  std::vector<std::string> EverStarted(std::string_view program) const;
  // Returns a host that has never joined or has left. Empty if there is none.
  std::string NextToJoin(std::string_view service) const;

  // Returns the identity in the Lease of the gateways. Empty if no gateway holds the Lease.
  std::string Leader() const;
  // Cuts the link of a gateway to the API server: open connections break, and new ones fail until the link is restored.
  void CutApi(std::string_view gateway, bool cut);

  // Returns the owner of the key according to that replica. Empty if the replica knows none. Requires: the replica
  // runs.
  std::string OwnerAt(std::string_view host, std::string_view key) const;
  // Returns the owner of the key according to some running replica of the service.
  std::string OwnerOf(std::string_view service, std::string_view key);
  // Returns a text for each joined process that does not run or is not ready, and for each other one that still runs.
  std::vector<std::string> Problems() const;
  // Returns jobsvc's controller on the host. Null if the process does not run.
  const jobsvc::JobController* JobsAt(std::string_view host) const;

  // ---- the world ----

  // These functions create, delete and edit objects as a user's kubectl would, not through the gateway.
  std::string CreateObject(std::string_view manifest_json);  // Returns the UID.
  void DeleteObject(std::string_view path);
  // Deletes the object only if it has that UID.
  void DeleteObject(std::string_view path, std::string_view uid, std::string_view propagation);
  void PatchObject(std::string_view path, std::string_view json_patch);

  // Kubernetes disrupts or evicts a running pod of namespace default: see NodeActor.
  void DisruptPod(std::string pod, std::string reason);
  void EvictPod(std::string pod);

  // Returns the phase in the stored Job. Empty if there is no such job, "-" if the job has no phase yet.
  std::string JobPhase(std::string_view ns, std::string_view name) const;
  // Returns the job of that UID in namespace default. Null if it is gone: another job may have its name by then.
  std::shared_ptr<const json::value> JobOf(std::string_view name, std::string_view uid) const;
  std::string PhaseOf(std::string_view name, std::string_view uid) const;  // Like JobPhase().

  // The counts of rare branches in the services' own metrics. Complete once the services are killed.
  const Probes& probes() const { return probes_; }
  // Refusals by gateways, as lines of metrics. Only the suite's own replicas send requests, so that there should be
  // none. Complete once the gateways are killed.
  const std::vector<std::string>& denied() const { return denied_; }
  // Returns how often a slot of the service continued without the records of its previous owner, which had some.
  uint64_t SlotsWithoutRecords(const std::string& service) const;
  // A text for each shutdown that took longer than allowed, though the process was never paused meanwhile.
  const std::vector<std::string>& overdue() const { return overdue_; }
  bool RecordsLost(const std::string& service, uint32_t slot) const { return records_lost_.contains({service, slot}); }

  // Returns true if the leading gateway has the pod as Failed. The owner of its job must then hear of the failure, even
  // after the deletion of the pod.
  bool IsSeenFailed(std::string_view pod_uid) const;
  // A pod that is about to be deleted and for which IsSeenFailed() is true.
  struct SeenFailure {
    absl::Time time;
    std::string uid;
  };
  void NoteSeenFailure(std::string uid) { seen_failures_.push_back({time_.Now(), std::move(uid)}); }
  const std::vector<SeenFailure>& seen_failures() const { return seen_failures_; }
  // Returns true if no event in this time may have erased the knowledge of a gateway or a replica, however long a
  // replica was down.
  bool NothingForgotten(absl::Time from, absl::Time until) const;

  // An event of a host, for people.
  struct Event {
    absl::Time time;
    std::string what;
  };
  void Note(std::string what) { events_.push_back({time_.Now(), std::move(what)}); }
  const std::vector<Event>& events() const { return events_; }

  // Returns a hash over every request to the API server, with its time and outcome. Equal runs have equal hashes.
  uint64_t TraceHash() const;

 private:
  Host& HostOf(std::string_view host) { return hosts_.find(host)->second; }
  const Host& HostOf(std::string_view host) const { return hosts_.find(host)->second; }
  void AddHost(std::string_view program, int number);
  void StartGateway(const std::string& name, Host& host);
  void StartService(const std::string& name, Host& host);
  // ---- sim_shutdown.cc ----
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
  std::unique_ptr<actors::Workloads> workloads_;  // Null if the run has no workloads.
  std::vector<std::unique_ptr<http::Call>> user_calls_;

  std::map<std::string, Host, std::less<>> hosts_;
  // How often each slot of a service continued without its records.
  std::map<std::pair<std::string, uint32_t>, uint64_t> records_lost_;
  std::vector<std::string> denied_;
  bool has_lost_disk_ = false;
  std::vector<std::string> overdue_;
  Probes probes_;
  std::vector<Event> events_;
  std::vector<SeenFailure> seen_failures_;
};

}  // namespace basalt::simulation
