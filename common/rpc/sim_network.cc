#include "common/rpc/sim_network.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "common/base/status.h"

namespace basalt::rpc {
namespace {

// A process at one time: the same name later is another one.
struct Endpoint {
  std::string host;
  uint64_t generation = 0;
};

struct Host {
  uint64_t generation = 0;
  SimLoop* loop = nullptr;
  GatewayHandler* gateway = nullptr;
  PodGroupHandler* pod_groups = nullptr;
};

struct Call {
  Endpoint client;
  std::string server;
  uint64_t server_generation = 0;
  bool delivered = false;
  absl::AnyInvocable<void(absl::Status)> fail;
};

// One Attach stream. An end is gone when it has been told so, has ended it, or has died.
struct Stream {
  Endpoint client;
  Endpoint server;
  AttachObserver* observer = nullptr;  // Null: the client's end is gone.
  std::unique_ptr<AttachSink> sink;
  std::unique_ptr<AttachSession> session;  // Null: not there yet, or the server's end is gone.
  bool broken = false;                     // Nothing is delivered any more but the ends' OnClosed.
  absl::Time up_until;
  absl::Time down_until;
};

}  // namespace

class SimNetwork::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(SimTime& time, Random& random, SimNetworkOptions options) : time_(time), random_(random), options_(options) {}

  void Shutdown() {
    calls_.clear();
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

  // ---- calls ----

  template <typename Request, typename Response>
  void Start(const Endpoint& client, const std::string& server, Request request, absl::Duration timeout,
             Done<Response> done, std::function<bool(Host&, Request, Done<Response>)> serve) {
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
    if (Happens(options_.repeat_request)) {
      After([client, server, request, serve](Core& core) {
        Host* host = core.Find(server);
        if (host == nullptr || core.IsCut(client.host, server)) return;
        serve(*host, request, [](absl::StatusOr<Response>) {});
      });
    }
    if (Happens(options_.lose_request)) return LoseCall(id);
    After([id, request = std::move(request), serve = std::move(serve), shared_done](Core& core) mutable {
      const auto it = core.calls_.find(id);
      if (it == core.calls_.end() || core.IsCut(it->second.client.host, it->second.server)) return;
      Host* host = core.Find(it->second.server);
      const auto refuse = [id](Core& self) { self.FailCall(id, absl::UnavailableError("nobody listens there")); };
      if (host == nullptr) return core.After(refuse);
      it->second.server_generation = host->generation;
      it->second.delivered = true;
      const Endpoint server_end{it->second.server, host->generation};
      const bool served =
          serve(*host, std::move(request),
                [weak = core.weak_from_this(), id, server_end, shared_done](absl::StatusOr<Response> answer) {
                  if (const auto self = weak.lock()) self->Answer(id, server_end, shared_done, std::move(answer));
                });
      if (!served) core.After(refuse);
    });
  }

  template <typename Response>
  void Answer(uint64_t id, const Endpoint& server, std::shared_ptr<Done<Response>> done,
              absl::StatusOr<Response> answer) {
    const auto it = calls_.find(id);
    if (it == calls_.end() || !IsAlive(server) || IsCut(server.host, it->second.client.host)) return;
    if (Happens(options_.lose_answer)) return LoseCall(id);
    After([id, done = std::move(done), answer = std::move(answer)](Core& core) mutable {
      const auto call = core.calls_.find(id);
      if (call == core.calls_.end()) return;
      if (core.IsCut(call->second.client.host, call->second.server)) return;
      const bool alive = core.IsAlive(call->second.client);
      core.calls_.erase(call);
      if (alive) (*done)(std::move(answer));
    });
  }

  // ---- streams ----

  uint64_t OpenStream(const Endpoint& client, const std::string& server, AttachObserver& observer);
  void ServeStream(uint64_t id);
  void SendUp(uint64_t id, gateway::v1::AttachRequest request);
  void SendDown(uint64_t id, const std::string& bytes);
  void CloseFromServer(uint64_t id, const absl::Status& status);
  void CloseFromClient(uint64_t id);

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

  void FailCall(uint64_t id, absl::Status status) {
    const auto it = calls_.find(id);
    if (it == calls_.end()) return;
    Call call = std::move(it->second);
    calls_.erase(it);
    if (IsAlive(call.client)) call.fail(std::move(status));
  }

  // Half of the lost ones are noticed by a broken connection, the others by their timeout.
  void LoseCall(uint64_t id) {
    if (random_.OneIn(2)) After([id](Core& core) { core.FailCall(id, absl::UnknownError("the connection broke")); });
  }

  void Break(uint64_t id, Stream& stream) {
    if (stream.broken) return;
    stream.broken = true;
    After([id](Core& core) { core.TellServer(id); });
    After([id](Core& core) { core.TellClient(id, absl::UnavailableError("the connection broke")); });
  }

  void TellServer(uint64_t id) {
    const auto it = streams_.find(id);
    if (it == streams_.end()) return;
    const std::unique_ptr<AttachSession> session = std::move(it->second.session);
    if (session != nullptr && IsAlive(it->second.server)) session->OnClosed();
    DropIfOver(id);
  }

  void TellClient(uint64_t id, const absl::Status& status) {
    const auto it = streams_.find(id);
    if (it == streams_.end()) return;
    AttachObserver* observer = std::exchange(it->second.observer, nullptr);
    if (observer != nullptr && IsAlive(it->second.client)) observer->OnClosed(status);
    DropIfOver(id);
  }

  void DropIfOver(uint64_t id) {
    const auto it = streams_.find(id);
    if (it == streams_.end() || !it->second.broken) return;
    if (it->second.observer == nullptr && it->second.session == nullptr) streams_.erase(it);
  }

  SimTime& time_;
  Random& random_;
  SimNetworkOptions options_;
  uint64_t next_ = 1;
  std::map<std::string, Host> hosts_;
  std::map<uint64_t, Call> calls_;
  std::map<uint64_t, Stream> streams_;
  std::set<std::pair<std::string, std::string>> cuts_;

  class Sink;
};

// The gateway's end of a stream.
class SimNetwork::Core::Sink final : public AttachSink {
 public:
  Sink(std::weak_ptr<Core> core, uint64_t id) : core_(std::move(core)), id_(id) {}
  void Send(std::string batch) override {
    if (const auto core = core_.lock()) core->SendDown(id_, batch);
  }
  void Close(const absl::Status& status) override {
    if (const auto core = core_.lock()) core->CloseFromServer(id_, status);
  }

 private:
  const std::weak_ptr<Core> core_;
  const uint64_t id_;
};

uint64_t SimNetwork::Core::OpenStream(const Endpoint& client, const std::string& server, AttachObserver& observer) {
  const uint64_t id = next_++;
  Stream& stream = streams_[id];
  stream.client = client;
  stream.server.host = server;
  stream.observer = &observer;
  if (IsCut(client.host, server)) {
    Break(id, stream);
    return id;
  }
  stream.up_until = stream.down_until = time_.Now() + Delay();
  At(stream.up_until, [id](Core& core) { core.ServeStream(id); });
  return id;
}

void SimNetwork::Core::ServeStream(uint64_t id) {
  const auto it = streams_.find(id);
  if (it == streams_.end() || it->second.broken) return;
  Host* host = Find(it->second.server.host);
  if (host == nullptr || host->gateway == nullptr) {
    it->second.broken = true;
    After([id](Core& core) { core.TellClient(id, absl::UnavailableError("nobody listens there")); });
    return;
  }
  it->second.server.generation = host->generation;
  it->second.sink = std::make_unique<Sink>(weak_from_this(), id);
  AttachSink& sink = *it->second.sink;
  std::unique_ptr<AttachSession> session = host->gateway->OnAttach(sink);
  const auto again = streams_.find(id);
  if (again != streams_.end()) again->second.session = std::move(session);
}

void SimNetwork::Core::SendUp(uint64_t id, gateway::v1::AttachRequest request) {
  const auto it = streams_.find(id);
  if (it == streams_.end() || it->second.broken || !IsAlive(it->second.client)) return;
  if (Happens(options_.break_stream)) return Break(id, it->second);
  it->second.up_until = std::max(it->second.up_until, time_.Now() + Delay());
  At(it->second.up_until, [id, request = std::move(request)](Core& core) mutable {
    const auto stream = core.streams_.find(id);
    if (stream == core.streams_.end() || stream->second.broken || stream->second.session == nullptr) return;
    if (core.IsAlive(stream->second.server)) stream->second.session->OnRequest(std::move(request));
  });
}

void SimNetwork::Core::SendDown(uint64_t id, const std::string& bytes) {
  const auto it = streams_.find(id);
  if (it == streams_.end() || it->second.broken || !IsAlive(it->second.server)) return;
  gateway::v1::AttachBatch batch;
  // As a real transport does with what it cannot read.
  if (Happens(options_.break_stream) || !batch.ParseFromString(bytes)) return Break(id, it->second);
  it->second.down_until = std::max(it->second.down_until, time_.Now() + Delay() + options_.batch_delay);
  At(it->second.down_until, [id, batch = std::move(batch)](Core& core) mutable {
    auto stream = core.streams_.find(id);
    if (stream == core.streams_.end() || stream->second.broken) return;
    if (stream->second.observer != nullptr && core.IsAlive(stream->second.client)) {
      stream->second.observer->OnBatch(std::move(batch));
    }
    stream = core.streams_.find(id);
    if (stream == core.streams_.end() || stream->second.broken || stream->second.session == nullptr) return;
    if (core.IsAlive(stream->second.server)) stream->second.session->OnSent();
  });
}

void SimNetwork::Core::CloseFromServer(uint64_t id, const absl::Status& status) {
  const auto it = streams_.find(id);
  if (it == streams_.end() || it->second.broken || !IsAlive(it->second.server)) return;
  // What was sent before still arrives; the session hears OnClosed in a task of its own.
  it->second.down_until = std::max(it->second.down_until, time_.Now() + Delay());
  At(it->second.down_until, [id, status](Core& core) {
    const auto stream = core.streams_.find(id);
    if (stream == core.streams_.end() || stream->second.broken) return;
    stream->second.broken = true;
    core.TellClient(id, status);
  });
  At(time_.Now(), [id](Core& core) { core.TellServer(id); });
}

void SimNetwork::Core::CloseFromClient(uint64_t id) {
  const auto it = streams_.find(id);
  if (it == streams_.end()) return;
  it->second.observer = nullptr;
  if (!IsAlive(it->second.client)) return;  // RemoveHost tells the server.
  Break(id, it->second);
}

SimNetwork::SimNetwork(SimTime& time, Random& random, SimNetworkOptions options)
    : core_(std::make_shared<Core>(time, random, options)) {}
SimNetwork::~SimNetwork() { core_->Shutdown(); }

void SimNetwork::SetOptions(SimNetworkOptions options) { core_->SetOptions(options); }
void SimNetwork::AddHost(const std::string& name, SimLoop& loop) { core_->AddHost(name, loop); }
void SimNetwork::RemoveHost(const std::string& name) { core_->RemoveHost(name); }
void SimNetwork::Serve(const std::string& host, GatewayHandler& handler) {
  if (Host* it = core_->Find(host)) it->gateway = &handler;
}
void SimNetwork::Serve(const std::string& host, PodGroupHandler& handler) {
  if (Host* it = core_->Find(host)) it->pod_groups = &handler;
}
void SimNetwork::Partition(const std::string& a, const std::string& b) { core_->Cut(a, b); }
void SimNetwork::Heal(const std::string& a, const std::string& b) { core_->Heal(a, b); }
void SimNetwork::HealAll() { core_->HealAll(); }
void SimNetwork::BreakStreams(const std::string& a, const std::string& b) { core_->BreakStreams(a, b); }

std::unique_ptr<GatewayPeer> SimNetwork::Gateway(const std::string& host, const std::string& server) {
  class ClientStream final : public AttachStream {
   public:
    ClientStream(std::weak_ptr<Core> core, uint64_t id) : core_(std::move(core)), id_(id) {}
    ~ClientStream() override {
      if (const auto core = core_.lock()) core->CloseFromClient(id_);
    }
    void Send(gateway::v1::AttachRequest request) override {
      if (const auto core = core_.lock()) core->SendUp(id_, std::move(request));
    }

   private:
    const std::weak_ptr<Core> core_;
    const uint64_t id_;
  };

  class Peer final : public GatewayPeer {
   public:
    Peer(std::weak_ptr<Core> core, Endpoint self, std::string server)
        : core_(std::move(core)), self_(std::move(self)), server_(std::move(server)) {}

    std::unique_ptr<AttachStream> Attach(AttachObserver& observer) override {
      const auto core = core_.lock();
      return std::make_unique<ClientStream>(core_, core ? core->OpenStream(self_, server_, observer) : 0);
    }
    void Write(gateway::v1::WriteRequest request, absl::Duration timeout,
               Done<gateway::v1::WriteResponse> done) override {
      const auto core = core_.lock();
      if (core == nullptr) return;
      core->Start<gateway::v1::WriteRequest, gateway::v1::WriteResponse>(
          self_, server_, std::move(request), timeout, std::move(done), [](Host& host, auto message, auto answer) {
            if (host.gateway == nullptr) return false;
            host.gateway->Write(std::move(message), std::move(answer));
            return true;
          });
    }
    void Get(gateway::v1::GetRequest request, absl::Duration timeout, Done<gateway::v1::GetResponse> done) override {
      const auto core = core_.lock();
      if (core == nullptr) return;
      core->Start<gateway::v1::GetRequest, gateway::v1::GetResponse>(
          self_, server_, std::move(request), timeout, std::move(done), [](Host& host, auto message, auto answer) {
            if (host.gateway == nullptr) return false;
            host.gateway->Get(std::move(message), std::move(answer));
            return true;
          });
    }

   private:
    const std::weak_ptr<Core> core_;
    const Endpoint self_;
    const std::string server_;
  };

  return std::make_unique<Peer>(core_, core_->EndpointOf(host), server);
}

std::unique_ptr<PeerDirectory> SimNetwork::Directory(const std::string& host) {
  class Peer final : public PodGroupPeer {
   public:
    Peer(std::weak_ptr<Core> core, Endpoint self, std::string server)
        : core_(std::move(core)), self_(std::move(self)), server_(std::move(server)) {}
    void EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest request, absl::Duration timeout,
                        Done<podgroup::v1::EnsurePodGroupResponse> done) override {
      const auto core = core_.lock();
      if (core == nullptr) return;
      core->Start<podgroup::v1::EnsurePodGroupRequest, podgroup::v1::EnsurePodGroupResponse>(
          self_, server_, std::move(request), timeout, std::move(done), [](Host& to, auto message, auto answer) {
            if (to.pod_groups == nullptr) return false;
            to.pod_groups->EnsurePodGroup(std::move(message), std::move(answer));
            return true;
          });
    }

   private:
    const std::weak_ptr<Core> core_;
    const Endpoint self_;
    const std::string server_;
  };

  class PeersOf final : public PeerDirectory {
   public:
    PeersOf(std::weak_ptr<Core> core, Endpoint self) : core_(std::move(core)), self_(std::move(self)) {}
    std::shared_ptr<PodGroupPeer> PodGroups(const gateway::v1::Member& member) override {
      return std::make_shared<Peer>(core_, self_, member.address());
    }

   private:
    const std::weak_ptr<Core> core_;
    const Endpoint self_;
  };

  return std::make_unique<PeersOf>(core_, core_->EndpointOf(host));
}

}  // namespace basalt::rpc
