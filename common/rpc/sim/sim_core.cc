#include "common/rpc/sim/sim_core.h"

namespace basalt::rpc {
namespace {

// The interval at which a server that drains checks whether calls or streams are left.
constexpr absl::Duration kDrainLook = absl::Milliseconds(10);

}  // namespace

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
  At(stream.up_until, [id, server](Core& core) {
    const auto it = core.streams_.find(id);
    if (it == core.streams_.end()) return;
    // From here on the end of that process ends the stream, too.
    if (const Host* host = core.Find(server)) it->second.server.generation = host->generation;
    core.Reach(server, [id](Core& self) { self.ServeStream(id); });
  });
  return id;
}

void SimNetwork::Core::ServeStream(uint64_t id) {
  const auto it = streams_.find(id);
  if (it == streams_.end() || it->second.broken) return;
  Host* host = Find(it->second.server.host);
  if (host == nullptr || host->gateway == nullptr || host->draining) {
    it->second.broken = true;
    After([id](Core& core) { core.NotifyClient(id, absl::UnavailableError("nobody listens there")); });
    return;
  }
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
    const auto sent = core.streams_.find(id);
    if (sent == core.streams_.end()) return;
    core.Reach(sent->second.server.host, [id, request = std::move(request)](Core& self) mutable {
      const auto stream = self.streams_.find(id);
      if (stream == self.streams_.end() || stream->second.broken || stream->second.session == nullptr) return;
      if (self.IsAlive(stream->second.server)) stream->second.session->OnRequest(std::move(request));
    });
  });
}

void SimNetwork::Core::SendDown(uint64_t id, const std::string& bytes) {
  const auto it = streams_.find(id);
  if (it == streams_.end() || it->second.broken || !IsAlive(it->second.server)) return;
  gateway::v1::AttachBatch batch;
  // A real transport breaks the stream, too, if it cannot parse a message.
  if (Happens(options_.break_stream) || !batch.ParseFromString(bytes)) return Break(id, it->second);
  it->second.down_until = std::max(it->second.down_until, time_.Now() + Delay() + options_.batch_delay);
  At(it->second.down_until, [id, batch = std::move(batch)](Core& core) mutable {
    const auto stream = core.streams_.find(id);
    if (stream == core.streams_.end()) return;
    core.Reach(stream->second.client.host,
               [id, batch = std::move(batch)](Core& self) mutable { self.Arrive(id, std::move(batch)); });
  });
}

void SimNetwork::Core::Arrive(uint64_t id, gateway::v1::AttachBatch batch) {
  auto stream = streams_.find(id);
  if (stream == streams_.end() || stream->second.broken) return;
  if (stream->second.observer != nullptr && IsAlive(stream->second.client)) {
    stream->second.observer->OnBatch(std::move(batch));
  }
  stream = streams_.find(id);
  if (stream == streams_.end()) return;
  Reach(stream->second.server.host, [id](Core& core) {
    const auto it = core.streams_.find(id);
    if (it == core.streams_.end() || it->second.broken || it->second.session == nullptr) return;
    if (core.IsAlive(it->second.server)) it->second.session->OnSent();
  });
}

void SimNetwork::Core::CloseFromServer(uint64_t id, const absl::Status& status) {
  const auto it = streams_.find(id);
  if (it == streams_.end() || it->second.broken || !IsAlive(it->second.server)) return;
  // Messages sent before still arrive; the session gets OnClosed in a task of its own.
  it->second.down_until = std::max(it->second.down_until, time_.Now() + Delay());
  At(it->second.down_until, [id, status](Core& core) {
    const auto stream = core.streams_.find(id);
    if (stream == core.streams_.end() || stream->second.broken) return;
    stream->second.broken = true;
    core.NotifyClient(id, status);
  });
  At(time_.Now(), [id](Core& core) { core.NotifyServer(id); });
}

void SimNetwork::Core::CloseFromClient(uint64_t id) {
  const auto it = streams_.find(id);
  if (it == streams_.end()) return;
  it->second.observer = nullptr;
  if (!IsAlive(it->second.client)) return;  // RemoveHost notifies the server.
  Break(id, it->second);
}

// ---- shutdown of a server ----

void SimNetwork::Core::Drain(const std::string& name, absl::Duration at_most, std::function<void()> done) {
  const Host* host = Find(name);
  if (host == nullptr) return;
  host->loop->Post(
      [weak = weak_from_this(), server = EndpointOf(name), end = time_.Now() + at_most, done = std::move(done)] {
        const auto core = weak.lock();
        if (core == nullptr || !core->IsAlive(server)) return;
        core->Find(server.host)->draining = true;
        core->AwaitDrained(server, end, done);
      });
}

void SimNetwork::Core::AwaitDrained(const Endpoint& server, absl::Time end, const std::function<void()>& done) {
  SimLoop& loop = *Find(server.host)->loop;
  if (time_.Now() < end && IsServing(server.generation)) {
    loop.RunAfter(kDrainLook, [weak = weak_from_this(), server, end, done] {
      const auto core = weak.lock();
      if (core != nullptr && core->IsAlive(server)) core->AwaitDrained(server, end, done);
    });
    return;
  }
  CutOff(server.generation);
  loop.Post(done);  // Runs after the notifications of the sessions.
}

bool SimNetwork::Core::IsServing(uint64_t generation) const {
  return IsServingGroups(generation) ||
         std::any_of(calls_.begin(), calls_.end(),
                     [=](const auto& entry) { return entry.second.server_generation == generation; }) ||
         std::any_of(streams_.begin(), streams_.end(), [=](const auto& entry) {
           return entry.second.server.generation == generation && !entry.second.broken;
         });
}

void SimNetwork::Core::CutOff(uint64_t generation) {
  CutOffGroupStreams(generation);
  // All streams are marked broken first: a session that is notified may want to send on another stream.
  std::vector<uint64_t> ended;
  for (auto& [id, stream] : streams_) {
    if (stream.server.generation != generation || std::exchange(stream.broken, true)) continue;
    ended.push_back(id);
  }
  for (const uint64_t id : ended) {
    NotifyServer(id);
    After([id](Core& core) { core.NotifyClient(id, absl::CancelledError("the server has shut down")); });
  }
  for (auto& [id, call] : calls_) {
    if (call.server_generation != generation || std::exchange(call.cut, true)) continue;
    After([id = id](Core& core) { core.FailCall(id, absl::UnknownError("the server has shut down")); });
  }
}

}  // namespace basalt::rpc
