#include "common/rpc/sim/sim_core.h"

namespace basalt::rpc {

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
    // From here the end of that process is the stream's.
    if (const Host* host = core.Find(server)) it->second.server.generation = host->generation;
    core.Reach(server, [id](Core& self) { self.ServeStream(id); });
  });
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
  // As a real transport does with what it cannot read.
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

}  // namespace basalt::rpc
