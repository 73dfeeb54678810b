#pragma once

// The in-memory transport of the simulation: each message is a task in SimTime that can be delayed, lost, cut off by a
// partition or lost with its sender. One thread, one seed.
//
// A host is a process: a name and its SimLoop. Peers are made for a host; handlers are served by one. Nothing touches a
// host's objects once its loop is killed or the host is removed. Kill the loop, then RemoveHost, then destroy the
// objects. The network may be destroyed before or after its peers. What reaches a host whose loop is paused waits there
// until it runs again; its streams stay, as long as nobody breaks them (a real transport's keepalive would).
#include <functional>
#include <memory>
#include <string>

#include "common/base/random.h"
#include "common/exec/sim_loop.h"
#include "common/rpc/peers.h"

namespace basalt::rpc {

struct SimNetworkOptions {
  absl::Duration min_delay = absl::Microseconds(100);
  absl::Duration max_delay = absl::Milliseconds(2);
  absl::Duration batch_delay;  // On top, of what the gateway sends on a stream: answers to calls overtake it.
  double lose_request = 0;     // The handler never sees it; the caller learns nothing before its timeout, or UNKNOWN.
  double lose_answer = 0;      // It was handled; the caller sees the same.
  // The handler sees it a second time, before or after; that answer is heard by nobody. Harder than the real transport,
  // which hands a request over once or not at all. A deletion of many by labels is spared: it has no precondition, and
  // relies on that.
  double repeat_request = 0;
  double break_stream = 0;  // For each message on a stream: it and all after it are lost, both ends are told.
  // Calls about pod groups travel in a stream, many to a message: these four are for each message of it, and one that
  // is lost takes the stream with it, at once or after a while in which nothing passes.
};

class SimNetwork {
 public:
  SimNetwork(SimTime& time, Random& random, SimNetworkOptions options = {});
  ~SimNetwork();
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  void SetOptions(SimNetworkOptions options);

  // A process starts under that name; one that is still there is removed first.
  void AddHost(const std::string& name, SimLoop& loop);
  // Its streams break and its calls in flight fail at the other ends, after a delay. Sessions that it served are
  // destroyed here and now, without OnClosed.
  void RemoveHost(const std::string& name);
  // The server of the host shuts down, as GrpcServer::Drain: it takes no new calls and streams. Once none of those
  // under way is left, or after `at_most`, it cuts off what is left: the sessions hear OnClosed, the callers UNKNOWN.
  // Then `done` runs on the host's loop, unless the host is killed before.
  void Drain(const std::string& name, absl::Duration at_most, std::function<void()> done);

  // Served until the host is removed.
  void Serve(const std::string& host, GatewayHandler& handler);
  void Serve(const std::string& host, PodGroupHandler& handler);
  void Serve(const std::string& host, ReplicaHandler& handler);

  // Clients of a host that was added. `server` need not exist yet.
  std::unique_ptr<GatewayPeer> Gateway(const std::string& host, const std::string& server);
  // Members are found by their address, which is the host's name.
  std::unique_ptr<PeerDirectory> Directory(const std::string& host);

  // Nothing passes between the two, in either direction.
  void Partition(const std::string& a, const std::string& b);
  void Heal(const std::string& a, const std::string& b);
  void HealAll();
  // Ends the streams between the two; new ones may be opened at once.
  void BreakStreams(const std::string& a, const std::string& b);

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace basalt::rpc
