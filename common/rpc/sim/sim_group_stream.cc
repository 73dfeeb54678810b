#include "common/rpc/sim/sim_group_stream.h"

#include <algorithm>

#include "common/base/status.h"

namespace basalt::rpc {
namespace {

// After this time a transport has noticed that the other end does not answer.
constexpr absl::Duration kKeepalive = absl::Seconds(15);

}  // namespace

// ---- the client's end ----

template <typename Then>
void SimNetwork::Core::GroupStream::OnClient(Core& core, Then then) {
  core.Reach(client_.host, [self = shared_from_this(), then = std::move(then)](Core& in) mutable {
    if (in.IsAlive(self->client_)) then(in, *self);
  });
}

void SimNetwork::Core::GroupStream::Ask(Core& core, Call call, absl::Duration timeout, Done<GroupCallAnswer> done) {
  if (!core.IsAlive(client_)) return;
  const uint64_t id = ++last_id_;
  call.set_id(id);
  const size_t bytes = call.ByteSizeLong();
  open_.emplace(id, std::move(done));
  if (const absl::Status kept = window_.Add(id, bytes, std::move(call)); !kept.ok()) {
    core.At(core.time_.Now(), [self = shared_from_this(), id, kept](Core& in) {
      self->OnClient(in, [id, kept](Core&, GroupStream& it) { it.End(id, kept); });
    });
    return;
  }
  core.At(core.time_.Now() + timeout, [self = shared_from_this(), id](Core& in) {
    self->OnClient(in, [id](Core& then, GroupStream& it) { it.Expire(then, id); });
  });
  // Flushes after the tasks that are due by now, which may bring calls, too.
  if (std::exchange(flush_due_, true)) return;
  core.At(core.time_.Now(), [self = shared_from_this()](Core& in) {
    self->OnClient(in, [](Core& then, GroupStream& it) { it.Flush(then); });
  });
}

void SimNetwork::Core::GroupStream::Close(Core& core) {
  closing_ = true;
  DropIfOver(core);
}

void SimNetwork::Core::GroupStream::Flush(Core& core) {
  flush_due_ = false;
  window_.EndTurn();
  SendUp(core);
}

void SimNetwork::Core::GroupStream::SendUp(Core& core) {
  for (Message message = window_.NextMessage(); !message.empty(); message = window_.NextMessage()) {
    Deliver(core, std::move(message));
  }
}

void SimNetwork::Core::GroupStream::TakeAnswers(Core& core, Answers answers) {
  for (const GroupCallAnswer& answer : answers) window_.Answered(answer.id());
  for (GroupCallAnswer& answer : answers) {
    if (!core.IsAlive(client_)) return;
    was_of_use_ = true;
    const uint64_t id = answer.id();
    if (answer.has_not_handled()) {
      End(id, MakeStatus(static_cast<absl::StatusCode>(answer.not_handled().code()), answer.not_handled().message()));
    } else {
      End(id, std::move(answer));
    }
  }
  SendUp(core);
  DropIfOver(core);
}

void SimNetwork::Core::GroupStream::Expire(Core& core, uint64_t id) {
  if (window_.Remove(id)) {
    End(id, absl::UnavailableError("the call could not be sent in time"));
  } else {
    End(id, absl::DeadlineExceededError("no answer in time"));
  }
  DropIfOver(core);
}

void SimNetwork::Core::GroupStream::End(uint64_t id, absl::StatusOr<GroupCallAnswer> answer) {
  const auto it = open_.find(id);
  if (it == open_.end()) return;
  Done<GroupCallAnswer> done = std::move(it->second);
  open_.erase(it);
  done(std::move(answer));
}

void SimNetwork::Core::GroupStream::EndAll(Core& core, const absl::Status& why) {
  ended_ = true;
  ended_at_ = core.time_.Now();
  for (const uint64_t id : window_.TakeWaiting()) {
    if (core.IsAlive(client_)) End(id, MakeStatus(absl::StatusCode::kUnavailable, ToStd(why.message())));
  }
  for (auto& [id, done] : std::exchange(open_, {})) {
    if (core.IsAlive(client_)) done(why);
  }
  core.group_streams_.erase(id_);
}

void SimNetwork::Core::GroupStream::DropIfOver(Core& core) {
  if (closing_ && open_.empty()) core.group_streams_.erase(id_);
}

// ---- the network ----

void SimNetwork::Core::GroupStream::Break(Core& core) {
  if (std::exchange(broken_, true)) return;
  core.After([self = shared_from_this()](Core& in) {
    self->OnClient(in,
                   [](Core& then, GroupStream& it) { it.EndAll(then, absl::UnknownError("the connection broke")); });
  });
}

void SimNetwork::Core::GroupStream::Lose(Core& core) {
  if (core.random_.OneIn(2)) return Break(core);
  FallSilent(core);
}

void SimNetwork::Core::GroupStream::FallSilent(Core& core) {
  if (std::exchange(silent_, true)) return;
  core.At(core.time_.Now() + kKeepalive * core.random_.Unit(),
          [self = shared_from_this()](Core& in) { self->Break(in); });
}

void SimNetwork::Core::GroupStream::Deliver(Core& core, Message message) {
  if (broken_ || silent_ || !core.IsAlive(client_)) return;
  if (core.IsCut(client_.host, server_)) return FallSilent(core);
  if (core.Happens(core.options_.repeat_request)) {
    core.After([self = shared_from_this(), message](Core& in) { self->Handle(in, message, false); });
  }
  if (core.Happens(core.options_.break_stream)) return Break(core);
  if (core.Happens(core.options_.lose_request)) return Lose(core);
  up_until_ = std::max(up_until_, core.time_.Now() + core.Delay());
  core.At(up_until_, [self = shared_from_this(), message = std::move(message)](Core& in) mutable {
    self->Arrive(in, std::move(message));
  });
}

void SimNetwork::Core::GroupStream::Arrive(Core& core, Message message) {
  if (broken_ || silent_) return;
  const Host* host = core.Find(server_);
  // If the server's process ended after the first message, its removal breaks the stream.
  if (server_generation_ == 0) {
    if (host == nullptr || host->pod_groups == nullptr || host->draining) {
      broken_ = true;
      core.After([self = shared_from_this()](Core& in) {
        self->OnClient(
            in, [](Core& then, GroupStream& it) { it.EndAll(then, absl::UnavailableError("nobody listens there")); });
      });
      return;
    }
    server_generation_ = host->generation;
  }
  if (host == nullptr || host->generation != server_generation_) return;
  core.Reach(server_, [self = shared_from_this(), message = std::move(message)](Core& in) mutable {
    self->Handle(in, std::move(message), true);
  });
}

// ---- the server's end ----

void SimNetwork::Core::GroupStream::Handle(Core& core, Message message, bool heard) {
  for (Call& call : message) {
    // Handling a call may end the process.
    Host* host = core.Find(server_);
    if (host == nullptr || host->pod_groups == nullptr || core.IsCut(client_.host, server_)) return;
    if (!heard) {
      if (host->draining) return;
      HandleGroupCall(*host->pod_groups, std::move(call), [](const absl::StatusOr<GroupCallAnswer>&) {});
      continue;
    }
    if (host->generation != server_generation_) return;
    const uint64_t id = call.id();
    if (host->draining) {
      Keep(core, id, absl::UnavailableError("the server is stopping"));
      continue;
    }
    HandleGroupCall(*host->pod_groups, std::move(call),
                    [weak = core.weak_from_this(), self = shared_from_this(), id,
                     under_way = under_way_](absl::StatusOr<GroupCallAnswer> answer) {
                      if (const auto in = weak.lock()) self->Keep(*in, id, std::move(answer));
                    });
  }
}

void SimNetwork::Core::GroupStream::Keep(Core& core, uint64_t id, absl::StatusOr<GroupCallAnswer> answer) {
  if (broken_ || !core.IsAlive({server_, server_generation_})) return;
  GroupCallAnswer kept;
  if (answer.ok()) {
    kept = *std::move(answer);
  } else {
    kept.mutable_not_handled()->set_code(answer.status().raw_code());
    kept.mutable_not_handled()->set_message(std::string(ToStd(answer.status().message())));
  }
  kept.set_id(id);
  answers_.push_back(std::move(kept));
  if (std::exchange(answers_due_, true)) return;
  core.At(core.time_.Now(), [self = shared_from_this()](Core& in) {
    in.Reach(self->server_, [self](Core& then) { self->SendDown(then); });
  });
}

void SimNetwork::Core::GroupStream::SendDown(Core& core) {
  answers_due_ = false;
  Answers message = std::exchange(answers_, {});
  if (broken_ || silent_ || !core.IsAlive({server_, server_generation_})) return;
  if (core.IsCut(client_.host, server_)) return FallSilent(core);
  if (core.Happens(core.options_.break_stream)) return Break(core);
  if (core.Happens(core.options_.lose_answer)) return Lose(core);
  down_until_ = std::max(down_until_, core.time_.Now() + core.Delay());
  core.At(down_until_,
          [self = shared_from_this(), under_way = under_way_, message = std::move(message)](Core& in) mutable {
            if (self->broken_ || self->silent_) return;
            self->OnClient(in, [message = std::move(message)](Core& then, GroupStream& it) mutable {
              it.TakeAnswers(then, std::move(message));
            });
          });
}

// ---- the peer, which opens streams ----

SimNetwork::Core::GroupPeer::~GroupPeer() {
  const auto core = core_.lock();
  if (core != nullptr && stream_ != nullptr) stream_->Close(*core);
}

void SimNetwork::Core::GroupPeer::Ask(podgroup::v1::CallBatch::Call call, absl::Duration timeout,
                                      Done<GroupCallAnswer> done) {
  const auto core = core_.lock();
  if (core == nullptr) return;
  if (stream_ != nullptr && stream_->ended()) {
    pause_.Ended(stream_->ended_at(), stream_->was_of_use());
    stream_ = nullptr;
  }
  if (stream_ == nullptr) {
    if (pause_.Blocks(core->time_.Now())) {
      core->At(core->time_.Now(), [self = self_, done = std::move(done)](Core& in) mutable {
        in.Reach(self.host, [self, done = std::move(done)](Core& then) mutable {
          if (then.IsAlive(self)) done(absl::UnavailableError("the stream ended; it is opened again soon"));
        });
      });
      return;
    }
    stream_ = core->OpenGroupStream(self_, server_);
  }
  stream_->Ask(*core, std::move(call), timeout, std::move(done));
}

std::shared_ptr<ServicePeer> SimNetwork::Core::MakeGroupPeer(const Endpoint& self, const std::string& server) {
  return std::make_shared<GroupPeer>(weak_from_this(), self, server);
}

std::shared_ptr<SimNetwork::Core::GroupStream> SimNetwork::Core::OpenGroupStream(const Endpoint& client,
                                                                                 const std::string& server) {
  const uint64_t id = next_++;
  const auto stream = std::make_shared<GroupStream>(id, client, server);
  group_streams_[id] = stream;
  return stream;
}

void SimNetwork::Core::RemoveFromGroupStreams(uint64_t generation) {
  const auto streams = group_streams_;
  for (const auto& [id, stream] : streams) {
    if (stream->client().generation == generation) {
      stream->Drop();
      group_streams_.erase(id);
    } else if (stream->server_generation() == generation) {
      stream->Break(*this);
    }
  }
}

bool SimNetwork::Core::IsServingGroups(uint64_t generation) const {
  return std::any_of(group_streams_.begin(), group_streams_.end(), [=](const auto& entry) {
    return entry.second->server_generation() == generation && entry.second->is_busy();
  });
}

void SimNetwork::Core::CutOffGroupStreams(uint64_t generation) {
  for (const auto& [id, stream] : group_streams_) {
    if (stream->server_generation() == generation) stream->Break(*this);
  }
}

void SimNetwork::Core::BreakGroupStreams(const std::string& a, const std::string& b) {
  for (const auto& [id, stream] : group_streams_) {
    if (std::minmax(stream->client().host, stream->server()) == std::minmax(a, b)) stream->Break(*this);
  }
}

}  // namespace basalt::rpc
