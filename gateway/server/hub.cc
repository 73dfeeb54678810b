#include "gateway/server/hub.h"

#include <utility>

#include <fmt/format.h>

#include "common/base/status.h"
#include "common/obs/log.h"
#include "gateway/route/object_ref.h"

namespace basalt::gateway {
namespace {

absl::Status Mismatch(std::string_view what, std::string_view here, std::string_view there) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    fmt::format("{} differs: the gateway has '{}', the replica '{}'", what, here, there));
}

// Which watches may know an object of that resource.
std::string WatchPrefix(const v1::Resource& resource) {
  return resource.group().empty() ? resource.plural() + "/" : fmt::format("{}.{}", resource.plural(), resource.group());
}

}  // namespace

std::string_view VerbOf(const v1::WriteRequest& request) {
  switch (request.operation_case()) {
    case v1::WriteRequest::kCreate:
      return "create";
    case v1::WriteRequest::kPatch:
      return "patch";
    case v1::WriteRequest::kDelete:
      return "delete";
    case v1::WriteRequest::kDeleteCollection:
      return "deletecollection";
    case v1::WriteRequest::OPERATION_NOT_SET:
      return "none";
  }
  return "none";
}

// The transport owns it; the hub refers to it by Replica::stream while it is that replica's.
class Hub::Stream : public rpc::AttachSession {
 public:
  Stream(Hub& hub, rpc::AttachSink& sink) : hub_(hub), sink_(sink), alive_(hub.alive_) {}
  ~Stream() override { OnClosed(); }

  void OnRequest(v1::AttachRequest request) override {
    if (ended_) return;
    if (const absl::Status status = Handle(request); !status.ok()) End(status);
  }
  void OnSent() override {
    if (session_ && !ended_) session_->OnSent();
  }
  void OnClosed() override {
    ended_ = true;
    if (*alive_) hub_.Detach(*this);
    session_.reset();
  }

  void End(const absl::Status& status) {
    if (ended_) return;
    ended_ = true;
    if (session_) {
      session_->Close(status);
    } else {
      sink_.Close(status);
    }
    hub_.Detach(*this);
  }

  std::unique_ptr<Session> session_;

 private:
  absl::Status Handle(const v1::AttachRequest& request) {
    if (!session_) {
      if (request.has_hello()) return hub_.Hello(*this, sink_, request.hello());
      return MakeStatus(absl::StatusCode::kInvalidArgument, "the first message of a stream is Hello");
    }
    switch (request.message_case()) {
      case v1::AttachRequest::kAck:
        return session_->OnAck(request.ack().sequence());
      case v1::AttachRequest::kInterest: {
        const v1::Interest& interest = request.interest();
        const InterestKey key{interest.watch(), interest.namespace_(), interest.name()};
        if (!interest.withdraw()) return hub_.interests_.Add(*session_, key);
        hub_.interests_.Withdraw(*session_, key);
        return absl::OkStatus();
      }
      case v1::AttachRequest::kReleased:
        hub_.ownership_.Release(session_->self(), request.released());
        hub_.Settle();
        return absl::OkStatus();
      case v1::AttachRequest::kHello:
        return MakeStatus(absl::StatusCode::kInvalidArgument, "Hello is said once in a stream");
      case v1::AttachRequest::MESSAGE_NOT_SET:
        return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  Hub& hub_;
  rpc::AttachSink& sink_;
  std::shared_ptr<bool> alive_;
  bool ended_ = false;
};

Hub::Hub(Loop& loop, KubeAccess& kube, obs::Metrics& metrics, const std::vector<std::string>& watches,
         HubOptions options)
    : loop_(loop),
      kube_(kube),
      metrics_(metrics),
      options_(std::move(options)),
      ownership_(options_.ownership),
      cache_(watches, *this),
      interests_(loop, kube, options_.interest_period,
                 [](Session& session, const InterestKey& key, std::shared_ptr<const kube::v1::Object> object) {
                   session.OnInterest(key, std::move(object));
                 }) {
  for (auto& slots : slots_) slots.resize(kSlotCount);
}

Hub::~Hub() {
  *alive_ = false;
  loop_.Cancel(settle_timer_);
  loop_.Cancel(stats_timer_);
}

Session* Hub::SessionOf(Replica& replica) const {
  return replica.stream == nullptr ? nullptr : replica.stream->session_.get();
}

// ---- streams ----

std::unique_ptr<rpc::AttachSession> Hub::OnAttach(rpc::AttachSink& sink) {
  return std::make_unique<Stream>(*this, sink);
}

absl::Status Hub::CheckHello(const v1::Hello& hello) const {
  if (hello.cluster() != options_.cluster) return Mismatch("cluster", options_.cluster, hello.cluster());
  if (hello.version() != options_.version) return Mismatch("version", options_.version, hello.version());
  if (hello.slot_count() != kSlotCount) {
    return Mismatch("slot count", fmt::to_string(kSlotCount), fmt::to_string(hello.slot_count()));
  }
  const v1::Member& self = hello.self();
  if (self.service() < 1 || self.service() > kServiceKinds || self.replica().empty() || self.incarnation().empty()) {
    return MakeStatus(absl::StatusCode::kInvalidArgument,
                      "Hello.self needs a service, a replica's name and an incarnation");
  }
  return absl::OkStatus();
}

absl::Status Hub::TakeName(const v1::Member& member) {
  const auto it = replicas_.find({member.service(), member.replica()});
  if (it == replicas_.end() || it->second->stream == nullptr) return absl::OkStatus();
  Stream& old = *it->second->stream;
  const bool same_process = it->second->member.incarnation() == member.incarnation();
  if (!same_process && old.session_->Lag() < options_.ownership.grace) {
    return MakeStatus(absl::StatusCode::kAlreadyExists,
                      fmt::format("replica '{}' is attached as incarnation '{}' and acknowledges; this one is '{}'",
                                  member.replica(), it->second->member.incarnation(), member.incarnation()));
  }
  old.End(MakeStatus(absl::StatusCode::kAborted,
                     fmt::format("replaced by a newer stream of incarnation '{}'", member.incarnation())));
  return absl::OkStatus();
}

absl::Status Hub::Hello(Stream& stream, rpc::AttachSink& sink, const v1::Hello& hello) {
  absl::Status status = CheckHello(hello);
  if (status.ok()) status = TakeName(hello.self());
  if (!status.ok()) {
    obs::LogWarning("replica refused", {{"replica", hello.self().replica()}, {"why", std::string(status.message())}});
    return status;
  }
  const v1::Member& self = hello.self();
  auto& replica = replicas_[{self.service(), self.replica()}];
  if (!replica) replica = std::make_unique<Replica>(options_.tombstone_bytes);
  replica->member = self;
  replica->stream = &stream;
  stream.session_ = std::make_unique<Session>(
      loop_, cache_, self, replica->tombstones, sink, [this] { return kube_.ApiNow(); }, options_.session);
  obs::LogInfo("replica attached", {{"service", std::string(ServiceName(self.service()))},
                                    {"replica", self.replica()},
                                    {"incarnation", self.incarnation()},
                                    {"address", self.address()}});
  ownership_.Attach(self, hello.last_epoch(), loop_.Now());
  if (ownership_.assignment().epoch() > 0) stream.session_->SetAssignment(ownership_.assignment());
  Settle();
  // Slots that it had before and still has; those that Settle gave it are open already.
  for (uint32_t i = 0; i < kSlotCount; ++i) {
    const Slot& slot = slots_[self.service() - 1][i];
    if (slot.owner != replica.get() || !slot.open || stream.session_->HasSlot(i)) continue;
    stream.session_->OpenSlot(i, ownership_.Get(self.service(), i).epoch);
  }
  if (stats_timer_ == kNoTimer) UpdateStats();
  return absl::OkStatus();
}

void Hub::Detach(Stream& stream) {
  if (!stream.session_) return;
  interests_.Forget(*stream.session_);
  const v1::Member& self = stream.session_->self();
  const auto it = replicas_.find({self.service(), self.replica()});
  if (it == replicas_.end() || it->second->stream != &stream) return;
  it->second->stream = nullptr;
  obs::LogInfo("replica detached", {{"replica", self.replica()}, {"incarnation", self.incarnation()}});
  ownership_.Detach(self, loop_.Now());
  Settle();
}

// ---- ownership ----

void Hub::Settle() {
  const Ownership::Changes changes = ownership_.Settle(loop_.Now());
  if (!changes.slots.empty()) {
    kube_.DropUnsent([this](const v1::Owner& owner) { return !ownership_.Check(owner).ok(); });
  }
  // What left a slot's owner is told before what a slot shows to the next one.
  for (const Ownership::Change& change : changes.slots) MoveSlot(change);
  if (changes.assignment) {
    obs::LogInfo("assignment changed", {{"epoch", fmt::to_string(ownership_.assignment().epoch())},
                                        {"members", fmt::to_string(ownership_.assignment().members_size())}});
    for (auto& [key, replica] : replicas_) {
      if (Session* session = SessionOf(*replica)) session->SetAssignment(ownership_.assignment());
    }
  }
  for (const Ownership::Change& change : changes.slots) OpenIfDrained(change.service, change.slot);
  std::erase_if(replicas_, [&](const auto& entry) {
    const v1::Member& member = entry.second->member;
    if (ownership_.IsPresent(member.service(), member.replica())) return false;
    metrics_.RemoveReplica(member);
    return true;
  });

  loop_.Cancel(settle_timer_);
  settle_timer_ = kNoTimer;
  const absl::Time deadline = ownership_.NextDeadline();
  if (deadline == absl::InfiniteFuture()) return;
  settle_timer_ = loop_.RunAt(deadline, [this, alive = alive_] {
    if (!*alive) return;
    settle_timer_ = kNoTimer;
    Settle();
  });
}

void Hub::MoveSlot(const Ownership::Change& change) {
  Slot& slot = slots_[change.service - 1][change.slot];
  const std::string& name = ownership_.Get(change.service, change.slot).replica;
  const auto found = replicas_.find({change.service, name});
  Replica* next = found == replicas_.end() ? nullptr : found->second.get();
  if (slot.owner != nullptr) {
    if (Session* session = SessionOf(*slot.owner)) session->CloseSlot(change.slot);
    if (next == nullptr) {
      slot.owner->tombstones.DropSlot(change.slot);
    } else if (next != slot.owner) {
      slot.owner->tombstones.MoveSlot(change.slot, next->tombstones);
    }
  }
  slot.owner = next;
  slot.open = false;
}

void Hub::OpenIfDrained(v1::ServiceKind service, uint32_t index) {
  Slot& slot = slots_[service - 1][index];
  if (slot.open || slot.owner == nullptr || slot.in_flight > 0) return;
  slot.open = true;
  Session* session = SessionOf(*slot.owner);
  if (session != nullptr) session->OpenSlot(index, ownership_.Get(service, index).epoch);
}

// ---- fan-out ----

void Hub::OnState(ObjectId id) {
  metrics_.CountState();
  if (cache_.IsBroadcastId(id)) {
    for (auto& [key, replica] : replicas_) {
      if (Session* session = SessionOf(*replica)) session->OnState(id);
    }
    return;
  }
  for (int service = 1; service <= kServiceKinds; ++service) {
    const uint32_t slot = cache_.SlotOfId(id, static_cast<v1::ServiceKind>(service));
    if (slot == kNoSlot) continue;
    Replica* owner = slots_[service - 1][slot].owner;
    if (owner == nullptr) continue;
    if (Session* session = SessionOf(*owner)) session->OnState(id);
  }
}

void Hub::OnDeparture(ObjectId id, const Departure& departure) {
  metrics_.CountDeparture();
  const auto tell = [&](Replica& replica) {
    const TombstoneKey key = replica.tombstones.Add(departure);
    if (Session* session = SessionOf(replica)) session->OnDeparture(id, key);
  };
  if (departure.service == v1::SERVICE_KIND_UNSPECIFIED) {
    for (auto& [key, replica] : replicas_) tell(*replica);
  } else if (Replica* owner = slots_[departure.service - 1][departure.slot].owner) {
    tell(*owner);
  }
}

void Hub::OnWatch(WatchIndex watch) {
  for (auto& [key, replica] : replicas_) {
    if (Session* session = SessionOf(*replica)) session->OnWatch(watch);
  }
}

// ---- calls ----

void Hub::Write(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done) {
  if (absl::Status status = ownership_.Check(request.owner()); !status.ok()) {
    loop_.Post([status = std::move(status), done = std::move(done)]() mutable { done(std::move(status)); });
    return;
  }
  v1::WriteRequest head;  // All but the body.
  *head.mutable_owner() = request.owner();
  *head.mutable_resource() = request.resource();
  head.set_namespace_(request.namespace_());
  head.set_name(request.name());
  const bool collection = request.has_delete_collection();
  const std::string verb(VerbOf(request));
  ++slots_[request.owner().member().service() - 1][request.owner().slot()].in_flight;
  metrics_.WriteBegins();
  kube_.Write(std::move(request), [this, alive = alive_, head = std::move(head), verb, collection,
                                   done = std::move(done)](absl::StatusOr<v1::WriteResponse> answer) mutable {
    if (!*alive) return;
    metrics_.WriteEnds(verb, head.resource().plural(), answer);
    if (!collection) OnWritten(head, answer);
    done(std::move(answer));
    const v1::ServiceKind service = head.owner().member().service();
    --slots_[service - 1][head.owner().slot()].in_flight;
    OpenIfDrained(service, head.owner().slot());
  });
}

void Hub::OnWritten(const v1::WriteRequest& request, absl::StatusOr<v1::WriteResponse>& answer) {
  if (!answer.ok()) return;
  if (answer->has_object()) {
    // Of what is gone already the watch tells the end.
    if (!answer->gone()) cache_.MergeWritten(answer->object());
    return;
  }
  if (!answer->has_error()) return;  // A deletion that left nothing behind.
  v1::KubeError& error = *answer->mutable_error();
  if (error.existing_uid().empty() && (error.reason() == "AlreadyExists" || error.reason() == "Conflict")) {
    error.set_existing_uid(cache_.UidOf(WatchPrefix(request.resource()), request.namespace_(), request.name()));
  }
}

void Hub::Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done) {
  kube_.Get(std::move(request), std::move(done));
}

void Hub::GetTopology(v1::GetTopologyRequest, rpc::Done<v1::Topology> done) {
  loop_.Post([this, alive = alive_, done = std::move(done)]() mutable {
    if (*alive) done(MakeTopology());
  });
}

v1::Topology Hub::MakeTopology() const {
  v1::Topology topology;
  topology.set_epoch(ownership_.assignment().epoch());
  topology.set_slot_count(kSlotCount);
  topology.set_gateway(options_.replica);
  topology.set_version(options_.version);
  for (const auto& [key, replica] : replicas_) {
    v1::MemberStatus& status = *topology.add_members();
    *status.mutable_member() = replica->member;
    uint32_t owned = 0;
    for (const Slot& slot : slots_[key.first - 1]) owned += slot.owner == replica.get() ? 1 : 0;
    status.set_slots(owned);
    if (const Session* session = SessionOf(*replica)) {
      status.set_attached(true);
      status.set_sent_sequence(session->sent_sequence());
      status.set_acknowledged_sequence(session->acknowledged_sequence());
      status.set_dirty_keys(session->dirty_keys());
    }
  }
  for (const WatchInfo& info : cache_.watches()) {
    v1::WatchStatus& status = *topology.add_watches();
    status.set_watch(info.id);
    status.set_state(info.state);
    status.set_resource_version(info.resource_version);
    status.set_objects(info.objects);
  }
  return topology;
}

void Hub::UpdateStats() {
  stats_timer_ = kNoTimer;
  bool any = false;
  for (auto& [key, replica] : replicas_) {
    const Session* session = SessionOf(*replica);
    any |= session != nullptr;
    metrics_.ShowReplica(replica->member, session, replica->tombstones);
  }
  metrics_.ShowWatches(cache_.watches());
  if (!any) return;
  stats_timer_ = loop_.RunAfter(options_.stats_period, [this, alive = alive_] {
    if (*alive) UpdateStats();
  });
}

}  // namespace basalt::gateway
