#include "gateway/server/hub.h"

#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/obs/log.h"
#include "common/rpc/leader_hint.h"
#include "gateway/kube/write/writer.h"
#include "gateway/route/object_ref.h"
#include "gateway/server/hub_stream.h"

namespace basalt::gateway {
namespace {

// By then nothing of an unanswered write is still under way at the server.
constexpr absl::Duration kServerSlack = absl::Seconds(1);

// Which watches may know an object of that resource.
std::string WatchPrefix(const v1::Resource& resource) {
  return resource.group().empty() ? resource.plural() + "/" : fmt::format("{}.{}", resource.plural(), resource.group());
}

}  // namespace

bool IsSameToken(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  // It takes as long wherever they differ.
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

Hub::Hub(Loop& loop, KubeAccess& kube, AssignmentStore& store, obs::Metrics& metrics,
         const std::vector<std::string>& watches, HubOptions options)
    : loop_(loop),
      kube_(kube),
      store_(store),
      metrics_(metrics),
      options_(std::move(options)),
      cache_(watches, *this),
      interests_(loop, kube, options_.interests,
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
  loop_.Cancel(membership_timer_);
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
  metrics_.ShowEpoch(saved.epoch());
  for (int service = 1; service <= kServiceKinds; ++service) {
    // Their owners are away: each gets what it had when it attaches.
    for (uint32_t i = 0; i < kSlotCount; ++i) {
      const Ownership::SlotHolder& owner = ownership_->Get(static_cast<v1::ServiceKind>(service), i).owner;
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
  ReconcileMembership();
}

void Hub::Follow(std::string leader, std::string leader_address) {
  leader_ = std::move(leader);
  leader_address_ = std::move(leader_address);
  if (!leads()) return;
  ++term_;
  obs::LogWarning("leading no more", {{"gateway", options_.replica}, {"leader", leader_}});
  loop_.Cancel(std::exchange(membership_timer_, kNoTimer));
  loop_.Cancel(std::exchange(save_timer_, kNoTimer));
  if (!members_sent_.value_or("").empty()) options_.on_members("");  // It is not for this one to say any more.
  members_sent_.reset();
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

absl::Status Hub::CheckToken(const v1::Owner& sender) const {
  const v1::Member& member = sender.member();
  const auto it = replicas_.find({member.service(), member.replica()});
  if (it == replicas_.end() || it->second->token.empty() || it->second->member.incarnation() != member.incarnation()) {
    return MakeStatus(absl::StatusCode::kUnavailable,
                      fmt::format("replica '{}' ({}) is not attached to gateway '{}'", Excerpt(member.replica()),
                                  Excerpt(member.incarnation()), options_.replica));
  }
  if (IsSameToken(it->second->token, sender.token())) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kUnauthenticated,
                    fmt::format("the token is not that of replica '{}' ({})", Excerpt(member.replica()),
                                Excerpt(member.incarnation())));
}

template <typename Request>
absl::Status Hub::CheckRequest(const Request& request, Permission (*check)(const Request&, const Cache&)) {
  constexpr bool kIsWrite = std::is_same_v<Request, v1::WriteRequest>;
  constexpr std::string_view kCall = kIsWrite ? "write" : "get";
  if (!leads()) return CheckLeading();
  const v1::Owner& sender = request.owner();
  absl::Status status = ownership_->Check(sender);
  if (!status.ok()) {
    const bool fenced = absl::IsFailedPrecondition(status);
    if (fenced && kIsWrite) metrics_.WriteFenced();
    Refuse(kCall, sender.member(), fenced ? "not_owner" : "nobody", status);
    return status;
  }
  status = CheckToken(sender);
  if (!status.ok()) {
    Refuse(kCall, sender.member(), absl::IsUnauthenticated(status) ? "token" : "not_attached", status);
    return status;
  }
  Permission permission = check(request, cache_);
  if (permission.refusal != RefusalReason::kNone) {
    Refuse(kCall, sender.member(), NameOf(permission.refusal), permission.status);
  }
  return std::move(permission.status);
}

void Hub::Refuse(std::string_view call, const v1::Member& sender, std::string_view reason, const absl::Status& why) {
  metrics_.CountRefusal(call, sender.service(), reason);
  const absl::Time now = loop_.Now();
  if (now < next_refusal_) {
    ++refusals_unlogged_;
    return;
  }
  next_refusal_ = now + options_.between_refusals;
  obs::LogWarning("refused", {{"call", std::string(call)},
                              {"service", std::string(ServiceName(sender.service()))},
                              {"replica", Excerpt(sender.replica())},
                              {"reason", std::string(reason)},
                              {"why", Excerpt(ToStd(why.message()), 1000)},
                              {"others_since_the_last", fmt::to_string(std::exchange(refusals_unlogged_, 0))}});
}

void Hub::Write(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done) {
  absl::Status status = CheckRequest(request, CheckWrite);
  if (!status.ok()) {
    loop_.Post([status = std::move(status), done = std::move(done)]() mutable { done(std::move(status)); });
    return;
  }
  request.mutable_owner()->clear_token();  // Nobody needs it from here on.
  NoteRecordsOfWriter(request.owner());
  v1::WriteRequest head;  // All but the body.
  *head.mutable_owner() = request.owner();
  *head.mutable_resource() = request.resource();
  head.set_namespace_(request.namespace_());
  head.set_name(request.name());
  const bool collection = request.has_delete_collection();
  const std::string verb(VerbOf(request));
  const absl::Duration timeout =
      request.timeout_ms() > 0 ? absl::Milliseconds(request.timeout_ms()) : WriterOptions().default_timeout;
  const absl::Time over = loop_.Now() + timeout + kServerSlack;
  ++slots_[request.owner().member().service() - 1][request.owner().slot()].in_flight;
  metrics_.WriteBegins();
  kube_.Write(std::move(request), [this, alive = alive_, head = std::move(head), verb, collection, over,
                                   done = std::move(done)](absl::StatusOr<v1::WriteResponse> answer) mutable {
    if (!*alive) return;
    metrics_.WriteEnds(verb, head.resource().plural(), answer);
    if (absl::IsPermissionDenied(answer.status())) Refuse("write", head.owner().member(), "body", answer.status());
    if (!collection) OnWritten(head, answer);
    if (IsSecret(head.resource()) && answer.ok() && answer->has_object()) HideContents(*answer->mutable_object());
    const bool unknown = absl::IsUnknown(answer.status()) || absl::IsDeadlineExceeded(answer.status());
    done(std::move(answer));
    const v1::ServiceKind service = head.owner().member().service();
    const uint32_t slot = head.owner().slot();
    if (!collection || !unknown) return OnWriteOver(service, slot);
    // The server may be at it still, and deletes by name: whoever has the slot next must not make anything before.
    loop_.RunAt(over, [this, alive = alive_, service, slot] {
      if (*alive) OnWriteOver(service, slot);
    });
  });
}

void Hub::OnWriteOver(v1::ServiceKind service, uint32_t slot) {
  --slots_[service - 1][slot].in_flight;
  if (!leads()) return;
  Advance(service, slot);
  DismissLeavers();
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
  absl::Status status = CheckRequest(request, CheckGet);
  if (!status.ok()) {
    loop_.Post([status = std::move(status), done = std::move(done)]() mutable { done(std::move(status)); });
    return;
  }
  request.clear_owner();
  if (!IsSecret(request.resource())) return kube_.Get(std::move(request), std::move(done));
  kube_.Get(std::move(request), [done = std::move(done)](absl::StatusOr<v1::GetResponse> answer) mutable {
    if (answer.ok() && answer->has_object()) HideContents(*answer->mutable_object());
    done(std::move(answer));
  });
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
