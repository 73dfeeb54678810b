#pragma once

// The inside of SimNetwork: the hosts, the calls and streams under way, and the fate of each message. For the .cc files
// of the simulated network only. One thread; everything is a task in SimTime.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/rpc/sim/sim_network.h"

namespace basalt::rpc {

class SimNetwork::Core : public std::enable_shared_from_this<Core> {
 public:
  // A process during its life: another process that has the name later is another endpoint.
  struct Endpoint {
    std::string host;
    uint64_t generation = 0;
  };

  struct Host {
    uint64_t generation = 0;
    SimLoop* loop = nullptr;
    bool draining = false;  // The host takes no new calls and streams.
    GatewayHandler* gateway = nullptr;
    PodGroupHandler* pod_groups = nullptr;
    ReplicaHandler* replicas = nullptr;
  };

  struct Call {
    Endpoint client;
    std::string server;
    uint64_t server_generation = 0;
    bool cut = false;  // The server sends no more answers.
    absl::AnyInvocable<void(absl::Status)> fail;
  };

  // One Attach stream. An end is gone when it was notified, has ended the stream, or has died.
  struct Stream {
    Endpoint client;
    Endpoint server;
    AttachObserver* observer = nullptr;  // Null if the client's end is gone.
    std::unique_ptr<AttachSink> sink;
    std::unique_ptr<AttachSession> session;  // Null if the server has not begun the stream, or its end is gone.
    bool broken = false;                     // Only the OnClosed of each end is still delivered.
    absl::Time up_until;
    absl::Time down_until;
  };

  Core(SimTime& time, Random& random, SimNetworkOptions options) : time_(time), random_(random), options_(options) {}

  void Shutdown() {
    calls_.clear();
    group_streams_.clear();
    streams_.clear();
    hosts_.clear();
  }

  void SetOptions(SimNetworkOptions options) { options_ = options; }

  void AddHost(const std::string& name, SimLoop& loop) {
    RemoveHost(name);
    hosts_[name] = {.generation = next_++, .loop = &loop};
  }

  void RemoveHost(const std::string& name) {
    const auto it = hosts_.find(name);
    if (it == hosts_.end()) return;
    const uint64_t generation = it->second.generation;
    hosts_.erase(it);
    std::vector<uint64_t> dropped;
    for (auto& [id, call] : calls_) {
      if (call.client.generation == generation) {
        dropped.push_back(id);
      } else if (call.server_generation == generation) {
        After([id = id](Core& core) { core.FailCall(id, absl::UnknownError("the connection broke")); });
      }
    }
    for (const uint64_t id : dropped) calls_.erase(id);
    RemoveFromGroupStreams(generation);
    for (auto& [id, stream] : streams_) {
      if (stream.server.generation == generation) stream.session.reset();
      if (stream.client.generation == generation) stream.observer = nullptr;
      if (stream.server.generation == generation || stream.client.generation == generation) Break(id, stream);
    }
  }

  Host* Find(const std::string& name) {
    const auto it = hosts_.find(name);
    return it != hosts_.end() && it->second.loop->alive() ? &it->second : nullptr;
  }

  bool IsAlive(const Endpoint& endpoint) {
    const Host* host = Find(endpoint.host);
    return host != nullptr && host->generation == endpoint.generation;
  }

  Endpoint EndpointOf(const std::string& host) {
    const auto it = hosts_.find(host);
    return {host, it == hosts_.end() ? 0 : it->second.generation};
  }

  // Runs `then` now, or once the host runs again if it is paused: messages to a paused process wait.
  template <typename Then>
  void Reach(const std::string& host, Then then) {
    const auto it = hosts_.find(host);
    if (it == hosts_.end() || !it->second.loop->paused()) return then(*this);
    it->second.loop->Post([weak = weak_from_this(), then = std::move(then)]() mutable {
      if (const auto core = weak.lock()) then(*core);
    });
  }

  // ---- calls ----

  template <typename Request, typename Response>
  void Start(const Endpoint& client, const std::string& server, Request request, absl::Duration timeout,
             Done<Response> done, std::function<bool(Host&, Request, Done<Response>)> serve, bool may_repeat = true) {
    if (!IsAlive(client)) return;
    const uint64_t id = next_++;
    auto shared_done = std::make_shared<Done<Response>>(std::move(done));
    calls_[id] = {.client = client, .server = server, .fail = [shared_done](absl::Status status) {
                    (*shared_done)(std::move(status));
                  }};
    time_.RunAfter(timeout, [weak = weak_from_this(), id] {
      if (const auto core = weak.lock()) core->FailCall(id, absl::DeadlineExceededError("no answer in time"));
    });
    if (IsCut(client.host, server)) return;
    if (Happens(options_.repeat_request) && may_repeat) {
      After([client, server, request, serve](Core& core) {
        Host* host = core.Find(server);
        if (host == nullptr || host->draining || core.IsCut(client.host, server)) return;
        serve(*host, request, [](absl::StatusOr<Response>) {});
      });
    }
    if (Happens(options_.lose_request)) return LoseCall(id);
    After([id, request = std::move(request), serve = std::move(serve), shared_done](Core& core) mutable {
      const auto it = core.calls_.find(id);
      if (it == core.calls_.end() || core.IsCut(it->second.client.host, it->second.server)) return;
      const Host* host = core.Find(it->second.server);
      if (host == nullptr || host->draining) return core.Refuse(id);
      const Endpoint server_end{it->second.server, host->generation};
      it->second.server_generation = host->generation;
      core.Reach(server_end.host, [id, server_end, request = std::move(request), serve = std::move(serve),
                                   shared_done](Core& self) mutable {
        if (!self.calls_.contains(id) || !self.IsAlive(server_end)) return;
        const bool served =
            serve(*self.Find(server_end.host), std::move(request),
                  [weak = self.weak_from_this(), id, server_end, shared_done](absl::StatusOr<Response> answer) {
                    if (const auto after = weak.lock()) after->Answer(id, server_end, shared_done, std::move(answer));
                  });
        if (!served) self.Refuse(id);
      });
    });
  }

  template <typename Response>
  void Answer(uint64_t id, const Endpoint& server, std::shared_ptr<Done<Response>> done,
              absl::StatusOr<Response> answer) {
    const auto it = calls_.find(id);
    if (it == calls_.end() || it->second.cut || !IsAlive(server) || IsCut(server.host, it->second.client.host)) return;
    if (Happens(options_.lose_answer)) return LoseCall(id);
    After([id, done = std::move(done), answer = std::move(answer)](Core& core) mutable {
      const auto waiting = core.calls_.find(id);
      if (waiting == core.calls_.end() || core.IsCut(waiting->second.client.host, waiting->second.server)) return;
      core.Reach(waiting->second.client.host,
                 [id, done = std::move(done), answer = std::move(answer)](Core& self) mutable {
                   const auto call = self.calls_.find(id);
                   if (call == self.calls_.end()) return;
                   const bool alive = self.IsAlive(call->second.client);
                   self.calls_.erase(call);
                   if (alive) (*done)(std::move(answer));
                 });
    });
  }

  // ---- streams ----

  uint64_t OpenStream(const Endpoint& client, const std::string& server, AttachObserver& observer);
  void ServeStream(uint64_t id);
  void SendUp(uint64_t id, gateway::v1::AttachRequest request);
  void SendDown(uint64_t id, const std::string& bytes);
  void Arrive(uint64_t id, gateway::v1::AttachBatch batch);
  void CloseFromServer(uint64_t id, const absl::Status& status);
  void CloseFromClient(uint64_t id);

  // ---- calls about pod groups: sim_group_stream.cc ----

  class GroupStream;
  class GroupPeer;
  std::shared_ptr<ServicePeer> MakeGroupPeer(const Endpoint& self, const std::string& server);

  // ---- shutdown of a server ----

  void Drain(const std::string& name, absl::Duration at_most, std::function<void()> done);

  void Cut(const std::string& a, const std::string& b) {
    cuts_.insert(std::minmax(a, b));
    BreakStreams(a, b);
  }
  void Heal(const std::string& a, const std::string& b) { cuts_.erase(std::minmax(a, b)); }
  void HealAll() { cuts_.clear(); }
  void BreakStreams(const std::string& a, const std::string& b) {
    for (auto& [id, stream] : streams_) {
      if (std::minmax(stream.client.host, stream.server.host) == std::minmax(a, b)) Break(id, stream);
    }
    BreakGroupStreams(a, b);
  }

 private:
  bool Happens(double probability) { return probability > 0 && random_.Unit() < probability; }

  absl::Duration Delay() { return options_.min_delay + (options_.max_delay - options_.min_delay) * random_.Unit(); }

  template <typename Then>
  void At(absl::Time when, Then then) {
    time_.RunAt(when, [weak = weak_from_this(), then = std::move(then)]() mutable {
      if (const auto core = weak.lock()) then(*core);
    });
  }
  template <typename Then>
  void After(Then then) {
    At(time_.Now() + Delay(), std::move(then));
  }

  bool IsCut(const std::string& a, const std::string& b) const { return cuts_.contains(std::minmax(a, b)); }

  void AwaitDrained(const Endpoint& server, absl::Time end, const std::function<void()>& done);
  // Returns whether calls or streams of that process are under way.
  bool IsServing(uint64_t generation) const;
  void CutOff(uint64_t generation);

  void FailCall(uint64_t id, absl::Status status) {
    const auto it = calls_.find(id);
    if (it == calls_.end()) return;
    Reach(it->second.client.host, [id, status = std::move(status)](Core& core) mutable {
      const auto waiting = core.calls_.find(id);
      if (waiting == core.calls_.end()) return;
      Call call = std::move(waiting->second);
      core.calls_.erase(waiting);
      if (core.IsAlive(call.client)) call.fail(std::move(status));
    });
  }

  void Refuse(uint64_t id) {
    After([id](Core& core) { core.FailCall(id, absl::UnavailableError("nobody listens there")); });
  }

  // A broken connection reveals half of the lost calls; the others end by their timeout.
  void LoseCall(uint64_t id) {
    if (random_.OneIn(2)) After([id](Core& core) { core.FailCall(id, absl::UnknownError("the connection broke")); });
  }

  void Break(uint64_t id, Stream& stream) {
    if (stream.broken) return;
    stream.broken = true;
    After([id](Core& core) { core.NotifyServer(id); });
    After([id](Core& core) { core.NotifyClient(id, absl::UnavailableError("the connection broke")); });
  }

  void NotifyServer(uint64_t id) {
    const auto stream = streams_.find(id);
    if (stream == streams_.end()) return;
    Reach(stream->second.server.host, [id](Core& core) {
      const auto it = core.streams_.find(id);
      if (it == core.streams_.end()) return;
      const std::unique_ptr<AttachSession> session = std::move(it->second.session);
      if (session != nullptr && core.IsAlive(it->second.server)) session->OnClosed();
      core.DropIfOver(id);
    });
  }

  void NotifyClient(uint64_t id, const absl::Status& status) {
    const auto stream = streams_.find(id);
    if (stream == streams_.end()) return;
    Reach(stream->second.client.host, [id, status](Core& core) {
      const auto it = core.streams_.find(id);
      if (it == core.streams_.end()) return;
      AttachObserver* observer = std::exchange(it->second.observer, nullptr);
      if (observer != nullptr && core.IsAlive(it->second.client)) observer->OnClosed(status);
      core.DropIfOver(id);
    });
  }

  void DropIfOver(uint64_t id) {
    const auto it = streams_.find(id);
    if (it == streams_.end() || !it->second.broken) return;
    if (it->second.observer == nullptr && it->second.session == nullptr) streams_.erase(it);
  }

  std::shared_ptr<GroupStream> OpenGroupStream(const Endpoint& client, const std::string& server);
  void RemoveFromGroupStreams(uint64_t generation);
  bool IsServingGroups(uint64_t generation) const;
  void CutOffGroupStreams(uint64_t generation);
  void BreakGroupStreams(const std::string& a, const std::string& b);

  SimTime& time_;
  Random& random_;
  SimNetworkOptions options_;
  uint64_t next_ = 1;
  std::map<std::string, Host> hosts_;
  std::map<uint64_t, Call> calls_;
  std::map<uint64_t, Stream> streams_;
  std::map<uint64_t, std::shared_ptr<GroupStream>> group_streams_;
  std::set<std::pair<std::string, std::string>> cuts_;

  class Sink;
};

}  // namespace basalt::rpc
