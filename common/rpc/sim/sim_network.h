#pragma once

// The in-memory transport of the simulation: each message is a task in SimTime that can be delayed, lost, cut off by a
// partition or lost with its sender. One thread, one seed.
//
// A host is a process: a name and its SimLoop. Peers are made for a host; a host serves handlers. Nothing touches a
// host's objects once its loop is killed or the host is removed. Kill the loop, then RemoveHost, then destroy the
// objects. The network may be destroyed before or after its peers. Messages to a host whose loop is paused wait until
// it runs again; its streams stay until BreakStreams or a fault breaks them (a real transport's keepalive would).
#include <functional>
#include <memory>
#include <string>

#include "common/base/random.h"
#include "common/exec/sim_loop.h"
#include "common/rpc/peers.h"

namespace basalt::rpc {

// Calls about pod groups travel in a stream, many to a message. The four faults apply to each message of that stream; a
// lost message ends the stream, at once or after a silence.
struct SimNetworkOptions {
  absl::Duration min_delay = absl::Microseconds(100);
  absl::Duration max_delay = absl::Milliseconds(2);
  absl::Duration batch_delay;  // Added for the gateway's messages on a stream, so that answers to calls overtake them.
  double lose_request = 0;     // The handler never gets the request; the call ends by its timeout, or with UNKNOWN.
  double lose_answer = 0;      // The request was handled; the call ends in the same way.
  // The handler gets the request a second time, before or after the first, and the second answer is dropped. That is
  // harder than the real transport, which hands a request over once or not at all. DeleteCollection is spared, since it
  // has no precondition and relies on the real transport's behaviour.
  double repeat_request = 0;
  // The probability for each message on a stream that it and all later ones are lost, and that both ends are notified.
  double break_stream = 0;
};

class SimNetwork {
 public:
  SimNetwork(SimTime& time, Random& random, SimNetworkOptions options = {});
  ~SimNetwork();
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  void SetOptions(SimNetworkOptions options);

  // Starts a process under that name; removes the previous one first if it still exists.
  void AddHost(const std::string& name, SimLoop& loop);
  // Breaks the host's streams and fails its calls in flight at the other ends, after a delay. Destroys the sessions
  // that the host served at once, without OnClosed.
  void RemoveHost(const std::string& name);
  // Shuts the server of the host down as GrpcServer::Drain does: it takes no new calls and streams. Once none is under
  // way, or after `at_most`, it cuts off the rest: sessions get OnClosed, callers get UNKNOWN. Then `done` runs on the
  // host's loop, unless the host is killed before.
  void Drain(const std::string& name, absl::Duration at_most, std::function<void()> done);

  // The host serves each handler until the host is removed.
  void Serve(const std::string& host, GatewayHandler& handler);
  void Serve(const std::string& host, PodGroupHandler& handler);
  void Serve(const std::string& host, ReplicaHandler& handler);

  // Makes a client of a host that was added. `server` need not exist yet.
  std::unique_ptr<GatewayPeer> Gateway(const std::string& host, const std::string& server);
  // The directory finds members by their address, which is the host's name.
  std::unique_ptr<PeerDirectory> Directory(const std::string& host);

  // Lets nothing pass between the two, in either direction.
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
