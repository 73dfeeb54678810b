#include "gateway/server/hub.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/status.h"
#include "common/obs/log.h"
#include "common/rpc/held_slots.h"
#include "common/rpc/leader_hint.h"
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
      case v1::AttachRequest::kAck: {
        const absl::Status status = session_->OnAck(request.ack().sequence());
        hub_.Acknowledged(*session_);
        return status;
      }
      case v1::AttachRequest::kInterest: {
        const v1::Interest& interest = request.interest();
        const InterestKey key{interest.watch(), interest.namespace_(), interest.name()};
        if (!interest.withdraw()) return hub_.interests_.Add(*session_, key);
        hub_.interests_.Withdraw(*session_, key);
        return absl::OkStatus();
      }
      case v1::AttachRequest::kReleased:
        hub_.ownership_->Release(session_->self(), request.released());
        hub_.Settle();
        return absl::OkStatus();
      case v1::AttachRequest::kTaken:
        hub_.Taken(session_->self(), request.taken());
        return absl::OkStatus();
      case v1::AttachRequest::kCleared:
        if (request.cleared().source().service() != session_->self().service()) {
          return MakeStatus(absl::StatusCode::kInvalidArgument, "Leftovers.source is of another service");
        }
        hub_.ownership_->Cleared(request.cleared());
        hub_.DismissLeavers();
        return absl::OkStatus();
      case v1::AttachRequest::kLeave:
        obs::LogInfo("replica leaves", {{"replica", session_->self().replica()}});
        hub_.ownership_->Leave(session_->self());
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

Hub::Hub(Loop& loop, KubeAccess& kube, AssignmentStore& store, obs::Metrics& metrics,
         const std::vector<std::string>& watches, HubOptions options)
    : loop_(loop),
      kube_(kube),
      store_(store),
      metrics_(metrics),
      options_(std::move(options)),
      cache_(watches, *this),
      interests_(loop, kube, options_.interest_period,
                 [](Session& session, const InterestKey& key, std::shared_ptr<const kube::v1::Object> object) {
                   session.OnInterest(key, std::move(object));
                 }) {
  for (auto& slots : slots_) slots.resize(kSlotCount);
  for (int i = 0; i < kServiceKinds; ++i) {
    unowned_.emplace_back(options_.tombstone_bytes, Tombstones::OverBound::kForget);
  }
}

Hub::~Hub() {
  *alive_ = false;
  loop_.Cancel(settle_timer_);
  loop_.Cancel(save_timer_);
  loop_.Cancel(stats_timer_);
}

// ---- leading ----

void Hub::Lead(const storage::v1::AssignmentRecord& saved) {
  ++term_;
  saving_ = false;
  leader_ = options_.replica;
  leader_address_.clear();
  ownership_ = std::make_unique<Ownership>(options_.ownership);
  ownership_->Restore(saved, loop_.Now());
  metrics_.ShowAssignment(saved.epoch(), true);
  for (int service = 1; service <= kServiceKinds; ++service) {
    // Their owners are away: each gets what it had when it attaches.
    for (uint32_t i = 0; i < kSlotCount; ++i) {
      const Ownership::Party& owner = ownership_->Get(static_cast<v1::ServiceKind>(service), i).owner;
      Slot& slot = slots_[service - 1][i];
      slot.owner = nullptr;
      slot.source.clear();
      slot.drained = slot.in_flight == 0;
      if (owner.replica.empty()) continue;
      auto& replica = replicas_[{service, owner.replica}];
      if (!replica) replica = std::make_unique<Replica>(options_.tombstone_bytes);
      slot.owner = replica.get();
    }
  }
  for (const v1::Member& member : ownership_->assignment().members()) {
    const auto known = replicas_.find({member.service(), member.replica()});
    if (known != replicas_.end()) known->second->member = member;
  }
  obs::LogInfo("leading", {{"gateway", options_.replica}, {"epoch", fmt::to_string(saved.epoch())}});
  Settle();
}

void Hub::Follow(std::string leader, std::string leader_address) {
  leader_ = std::move(leader);
  leader_address_ = std::move(leader_address);
  if (!leads()) return;
  ++term_;
  obs::LogWarning("leading no more", {{"gateway", options_.replica}, {"leader", leader_}});
  loop_.Cancel(std::exchange(settle_timer_, kNoTimer));
  loop_.Cancel(std::exchange(save_timer_, kNoTimer));
  metrics_.ShowAssignment(ownership_->assignment().epoch(), false);
  ownership_.reset();
  const absl::Status why = CheckLeading();
  for (auto& [key, replica] : replicas_) {
    if (replica->stream != nullptr) std::exchange(replica->stream, nullptr)->End(why);
  }
  for (auto& slots : slots_) {
    for (Slot& slot : slots) slot.owner = nullptr;
  }
  for (const auto& [key, replica] : replicas_) metrics_.RemoveReplica(replica->member);
  replicas_.clear();
  for (Tombstones& tombstones : unowned_) tombstones.Clear();
  kube_.DropUnsent([](const v1::Owner&) { return true; });
}

absl::Status Hub::CheckLeading() const {
  if (leads()) return absl::OkStatus();
  if (leader_.empty()) {
    return MakeStatus(absl::StatusCode::kUnavailable,
                      fmt::format("gateway '{}' does not lead; nobody is known to", options_.replica));
  }
  return rpc::WithLeader(
      MakeStatus(absl::StatusCode::kUnavailable, fmt::format("gateway '{}' does not lead, '{}' at {} does",
                                                             options_.replica, leader_, leader_address_)),
      leader_address_);
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
  if (status.ok() && !leads()) return CheckLeading();
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
  ownership_->Attach(hello, loop_.Now());
  if (ownership_->assignment().epoch() > 0) stream.session_->SetAssignment(ownership_->assignment());
  Settle();
  AdvanceAll(self.service());
  if (hello.held_size() > 0) {
    std::vector<uint32_t> held;
    rpc::ForEachHeldSlot(hello.held(), [&](uint32_t slot, int64_t, bool) {
      if (slot < kSlotCount) held.push_back(slot);
    });
    TellLeftovers(self.service(), held, self.replica());
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
  // What it was told to fetch it is told again; what others were to fetch from it may be had elsewhere, or not at all.
  for (Slot& slot : slots_[self.service() - 1]) {
    if (slot.owner == it->second.get() || slot.source == self.replica()) slot.source.clear();
  }
  ownership_->Detach(self, loop_.Now());
  Settle();
}

void Hub::Acknowledged(Session& session) {
  const std::vector<uint32_t> begun = session.TakeBegun();
  if (begun.empty()) return;
  for (const uint32_t slot : begun) ownership_->NoteRecords(session.self().service(), slot);
  TellLeftovers(session.self().service(), begun);
}

void Hub::TellLeftovers(v1::ServiceKind service, const std::vector<uint32_t>& slots, const std::string& source) {
  // By the names of who is told and of whom: in the same order in every run.
  std::map<std::pair<std::string, std::string>, std::pair<Session*, v1::Leftovers>> told;
  for (const uint32_t i : slots) {
    const Slot& slot = slots_[service - 1][i];
    if (!SessionHas(slot, i)) continue;
    for (const Ownership::Leftover& leftover : ownership_->FindLeftovers(service, i)) {
      if (!source.empty() && leftover.source.replica() != source) continue;
      auto& [session, leftovers] = told[{slot.owner->member.replica(), leftover.source.replica()}];
      session = SessionOf(*slot.owner);
      *leftovers.mutable_source() = leftover.source;
      rpc::AddHeldSlot(i, leftover.epoch, /*only_history=*/false, *leftovers.mutable_held());
    }
  }
  for (auto& [names, what] : told) what.first->Tell(std::move(what.second));
}

void Hub::Taken(const v1::Member& member, const v1::Taken& taken) {
  const auto it = replicas_.find({member.service(), member.replica()});
  if (it == replicas_.end()) return;
  if (taken.lost_size() > 0) {
    for (const uint32_t slot : taken.lost()) CountLostRecords(member.service(), slot);
    obs::LogWarning("records of slots are lost", {{"service", std::string(ServiceName(member.service()))},
                                                  {"replica", member.replica()},
                                                  {"slots", fmt::to_string(taken.lost_size())}});
  }
  for (const uint32_t i : taken.slots()) {
    if (i >= kSlotCount) continue;
    Slot& slot = slots_[member.service() - 1][i];
    const bool lost = std::find(taken.lost().begin(), taken.lost().end(), i) != taken.lost().end();
    // Its source may have gone since, and come back: what was fetched is there. What could not be had is asked again.
    const bool expected = slot.owner == it->second.get() && !SessionHas(slot, i) && (!lost || !slot.source.empty()) &&
                          ownership_->Get(member.service(), i).owner.epoch == taken.epoch();
    if (!expected) continue;
    slot.source.clear();
    ownership_->NoteRecords(member.service(), i);
    Advance(member.service(), i);
  }
  DismissLeavers();
}

void Hub::CountLostRecords(v1::ServiceKind service, uint32_t slot) {
  metrics_.CountLostRecords();
  if (options_.on_records_lost) options_.on_records_lost(service, slot);
}

// ---- ownership ----

void Hub::Settle() {
  if (!leads()) return;
  const std::vector<Ownership::Change> changes = ownership_->Settle(loop_.Now());
  if (!changes.empty()) {
    kube_.DropUnsent([this](const v1::Owner& owner) { return !ownership_->Check(owner).ok(); });
  }
  // What left a slot's owner is told before what a slot shows to the next one.
  for (const Ownership::Change& change : changes) MoveSlot(change);
  for (const Ownership::Change& change : changes) Advance(change.service, change.slot);
  if (!saving_ && save_timer_ == kNoTimer) {
    std::optional<storage::v1::AssignmentRecord> wanted = ownership_->Propose(loop_.Now());
    if (wanted.has_value()) Save(*std::move(wanted));
  }
  // What was waited for may be had elsewhere, or not at all.
  for (const v1::ServiceKind service : ownership_->TakeExpired()) AdvanceAll(service);
  std::erase_if(replicas_, [&](const auto& entry) {
    const v1::Member& member = entry.second->member;
    if (ownership_->IsPresent(member.service(), member.replica())) return false;
    // Its tombstones go with its slots.
    const std::vector<Slot>& slots = slots_[member.service() - 1];
    const bool owns =
        std::any_of(slots.begin(), slots.end(), [&](const Slot& slot) { return slot.owner == entry.second.get(); });
    if (!owns) metrics_.RemoveReplica(member);
    return !owns;
  });
  DismissLeavers();
  TellMembers();

  loop_.Cancel(settle_timer_);
  settle_timer_ = kNoTimer;
  const absl::Time deadline = ownership_->NextDeadline();
  if (deadline == absl::InfiniteFuture() || saving_ || save_timer_ != kNoTimer) return;
  settle_timer_ = loop_.RunAt(deadline, [this, alive = alive_] {
    if (!*alive) return;
    settle_timer_ = kNoTimer;
    Settle();
  });
}

void Hub::Save(storage::v1::AssignmentRecord record) {
  saving_ = true;
  store_.Save(record, [this, alive = alive_, term = term_, record](const absl::Status& status) {
    if (!*alive || term != term_) return;
    saving_ = false;
    if (status.ok()) return Adopt(record);
    obs::LogWarning("assignment not saved",
                    {{"epoch", fmt::to_string(record.epoch())}, {"why", std::string(ToStd(status.message()))}});
    // Somebody else leads, or has led since: nothing is done in an epoch that is not ours.
    if (absl::IsAborted(status)) return Follow("", "");
    save_timer_ = loop_.RunAfter(options_.save_again, [this, alive] {
      if (!*alive) return;
      save_timer_ = kNoTimer;
      Settle();
    });
  });
}

void Hub::Adopt(const storage::v1::AssignmentRecord& record) {
  ownership_->Adopt(record, loop_.Now());
  metrics_.ShowAssignment(record.epoch(), true);
  obs::LogInfo("assignment changed",
               {{"epoch", fmt::to_string(record.epoch())}, {"members", fmt::to_string(record.members_size())}});
  for (auto& [key, replica] : replicas_) {
    Session* session = SessionOf(*replica);
    if (session == nullptr) continue;
    session->SetAssignment(ownership_->assignment());
    // It hears no more of what it is to release: the next owner does.
    for (uint32_t i = 0; i < kSlotCount; ++i) {
      const Ownership::Slot& slot = ownership_->Get(replica->member.service(), i);
      if (slots_[key.first - 1][i].owner == replica.get() && slot.owner.epoch != slot.target.epoch) {
        session->CloseSlot(i);
      }
    }
  }
  Settle();
}

void Hub::TellMembers() {
  if (options_.on_members == nullptr || options_.ownership.expected.empty()) return;
  std::vector<std::string> differs;
  for (const auto& [service, expected] : options_.ownership.expected) {
    const int attached = ownership_->Attached(static_cast<v1::ServiceKind>(service)).first;
    if (attached == expected) continue;
    differs.push_back(
        fmt::format("{}: {} of {} attached", ProgramName(static_cast<v1::ServiceKind>(service)), attached, expected));
  }
  std::string text = fmt::format("{}", fmt::join(differs, ", "));
  if (members_told_ == text) return;
  members_told_ = text;
  options_.on_members(text);
}

void Hub::MoveSlot(const Ownership::Change& change) {
  Slot& slot = slots_[change.service - 1][change.slot];
  const std::string& name = ownership_->Get(change.service, change.slot).owner.replica;
  const auto found = replicas_.find({change.service, name});
  Replica* next = found == replicas_.end() ? nullptr : found->second.get();
  if (slot.owner != nullptr) {
    if (Session* session = SessionOf(*slot.owner)) session->CloseSlot(change.slot);
  }
  if (next != slot.owner) {
    Tombstones& unowned = unowned_[change.service - 1];
    Tombstones& from = slot.owner == nullptr ? unowned : slot.owner->tombstones;
    from.MoveSlot(change.slot, next == nullptr ? unowned : next->tombstones);
  }
  slot.owner = next;
  slot.drained = false;
  slot.moving = true;
  slot.source.clear();
}

void Hub::Advance(v1::ServiceKind service, uint32_t index) {
  Slot& slot = slots_[service - 1][index];
  if (slot.owner == nullptr) return;
  slot.drained |= slot.in_flight == 0;
  Session* session = SessionOf(*slot.owner);
  const Ownership::Slot& owned = ownership_->Get(service, index);
  if (!slot.drained || session == nullptr || session->HasSlot(index)) return;
  // What is to move on is not begun, also if only to the next incarnation.
  if (owned.owner.epoch != owned.target.epoch || !owned.owner.SameProcess(session->self())) return;
  const Ownership::Source source = ownership_->FindSource(service, index);
  if (source.wait) return;
  if (source.replica.empty() || source.replica == owned.owner.replica) {
    slot.source.clear();
    if (source.replica.empty() && ownership_->HadRecords(service, index)) CountLostRecords(service, index);
    session->OpenSlot(index, owned.owner.epoch, source.epoch);
    if (std::exchange(slot.moving, false)) metrics_.SlotOpens(loop_.Now() - owned.since);
    return;
  }
  if (slot.source == source.replica) return;
  const auto holder = replicas_.find({service, source.replica});
  if (holder == replicas_.end()) return;
  slot.source = source.replica;
  v1::SlotGrant grant;
  grant.set_slot(index);
  grant.set_epoch(owned.owner.epoch);
  *grant.mutable_source() = holder->second->member;
  grant.set_source_epoch(source.epoch);
  session->Grant(grant);
}

void Hub::AdvanceAll(int service) {
  for (uint32_t i = 0; i < kSlotCount; ++i) Advance(static_cast<v1::ServiceKind>(service), i);
}

// Somebody who is there is to have the records of the slot that the replica has.
bool Hub::IsWanted(const Replica& replica, uint32_t index) const {
  const v1::ServiceKind service = replica.member.service();
  const Slot& slot = slots_[service - 1][index];
  if (!SessionHas(slot, index)) return ownership_->FindSource(service, index).replica == replica.member.replica();
  return ownership_->Holds(replica.member, index);
}

// A replica that leaves may go once nobody waits for its slots or its records.
void Hub::DismissLeavers() {
  std::vector<Stream*> dismissed;
  for (const auto& [key, replica] : replicas_) {
    if (replica->stream == nullptr || !ownership_->IsLeaving(replica->member.service(), key.second)) continue;
    bool needed = false;
    for (uint32_t i = 0; i < kSlotCount && !needed; ++i) {
      const Slot& slot = slots_[key.first - 1][i];
      needed = slot.owner == replica.get() || IsWanted(*replica, i);
    }
    const bool member = std::any_of(
        ownership_->assignment().members().begin(), ownership_->assignment().members().end(),
        [&](const v1::Member& other) { return other.service() == key.first && other.replica() == key.second; });
    const bool alone = !ownership_->AnybodyStays(replica->member.service());
    if (alone || (!needed && !member)) dismissed.push_back(replica->stream);
  }
  for (Stream* stream : dismissed) stream->End(absl::OkStatus());
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
  } else if (leads() && ownership_->Get(departure.service, departure.slot).owner.epoch > 0) {
    unowned_[departure.service - 1].Add(departure);  // Somebody knew of it who may come back.
  }
}

void Hub::OnWatch(WatchIndex watch) {
  for (auto& [key, replica] : replicas_) {
    if (Session* session = SessionOf(*replica)) session->OnWatch(watch);
  }
}

// ---- calls ----

void Hub::Write(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done) {
  absl::Status status = leads() ? ownership_->Check(request.owner()) : CheckLeading();
  if (!status.ok()) {
    if (absl::IsFailedPrecondition(status)) metrics_.WriteFenced();
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
    if (!leads()) return;
    Advance(service, head.owner().slot());
    DismissLeavers();
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

bool Hub::SessionHas(const Slot& slot, uint32_t index) const {
  const Session* session = slot.owner == nullptr ? nullptr : SessionOf(*slot.owner);
  return session != nullptr && session->HasSlot(index);
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
