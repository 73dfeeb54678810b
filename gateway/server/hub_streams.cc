// Decides which replicas are attached: one stream of each, let in by name and process.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/name_rules.h"
#include "common/obs/log.h"
#include "common/rpc/held_slots.h"
#include "common/rpc/request_bounds.h"
#include "gateway/route/owner_watch.h"
#include "gateway/server/hub.h"
#include "gateway/server/hub_stream.h"

namespace basalt::gateway {
namespace {

constexpr size_t kShortestSecret = 16;
constexpr size_t kLongestSecret = 64;

std::string DigestOf(std::string_view secret) {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  EVP_Digest(secret.data(), secret.size(), reinterpret_cast<unsigned char*>(digest.data()), &size, EVP_sha256(),
             nullptr);
  digest.resize(size);
  return digest;
}

absl::Status Mismatch(std::string_view what, std::string_view here, std::string_view there) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    fmt::format("{} differs: the gateway has '{}', the replica '{}'", what, here, Excerpt(there)));
}

bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

// Every replica receives the members, and their names are hashed, saved and logged. CheckRequest bounds their lengths.
absl::Status CheckMember(const v1::Member& self) {
  if (self.service() < 1 || self.service() > kServiceKinds) return Invalid("Hello.self.service is none");
  if (!kube::IsDnsSubdomain(self.replica())) {
    return Invalid(fmt::format("Hello.self.replica has to be a DNS name of 1 to {} bytes; it is '{}'",
                               kube::kMaxSubdomain, Excerpt(self.replica())));
  }
  if (self.incarnation().empty() || !IsPrintable(self.incarnation())) {
    return Invalid(fmt::format("Hello.self.incarnation has to be printable and not empty; it is '{}'",
                               Excerpt(self.incarnation())));
  }
  if (!IsPrintable(self.address())) {
    return Invalid(fmt::format("Hello.self.address has to be printable; it is '{}'", Excerpt(self.address())));
  }
  return absl::OkStatus();
}

}  // namespace

void Hub::Stream::OnRequest(v1::AttachRequest request) {
  if (ended_) return;
  if (const absl::Status status = Handle(request); !status.ok()) End(status);
}

void Hub::Stream::OnSent() {
  if (session_ && !ended_) session_->OnSent();
}

void Hub::Stream::OnClosed() {
  ended_ = true;
  if (*alive_) hub_.Detach(*this);
  session_.reset();
}

void Hub::Stream::End(const absl::Status& status) {
  if (ended_) return;
  ended_ = true;
  if (session_) {
    session_->Close(status);
  } else {
    sink_.Close(status);
  }
  hub_.Detach(*this);
}

absl::Status Hub::Stream::Handle(const v1::AttachRequest& request) {
  BASALT_RETURN_IF_ERROR(rpc::CheckRequest(request));
  if (!session_) {
    if (request.has_hello()) return hub_.Hello(*this, sink_, request.hello());
    return Invalid("the first message of a stream is Hello");
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
      if (!interest.withdraw()) {
        if (const Permission may = CheckInterest(session_->self().service(), key.watch); !may.status.ok()) {
          hub_.Refuse("interest", session_->self(), NameOf(may.refusal), may.status);
          return may.status;
        }
      }
      const auto handle = [&](auto& interests) {
        return interest.withdraw() ? interests.Withdraw(*session_, key) : interests.Add(*session_, key);
      };
      IsOwnerWatch(key.watch) ? handle(hub_.owner_interests_) : handle(hub_.interests_);
      return absl::OkStatus();
    }
    case v1::AttachRequest::kReleased:
      hub_.ownership_->Release(session_->self(), request.released());
      hub_.ReconcileMembership();
      return absl::OkStatus();
    case v1::AttachRequest::kRecordsImported:
      hub_.Taken(session_->self(), request.records_imported());
      return absl::OkStatus();
    case v1::AttachRequest::kOrphansRemoved:
      if (request.orphans_removed().source().service() != session_->self().service()) {
        return Invalid("OrphanedRecords.source is of another service");
      }
      hub_.ownership_->Cleared(request.orphans_removed());
      hub_.DismissLeavers();
      return absl::OkStatus();
    case v1::AttachRequest::kLeave:
      obs::LogInfo("replica leaves", {{"replica", session_->self().replica()}});
      hub_.ownership_->Leave(session_->self());
      hub_.ReconcileMembership();
      return absl::OkStatus();
    case v1::AttachRequest::kHello:
      return Invalid("Hello is said once in a stream");
    case v1::AttachRequest::MESSAGE_NOT_SET:
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

std::unique_ptr<rpc::AttachSession> Hub::OnAttach(rpc::AttachSink& sink) {
  return std::make_unique<Stream>(*this, sink);
}

absl::Status Hub::CheckHello(const v1::Hello& hello) const {
  if (hello.cluster() != options_.cluster) return Mismatch("cluster", options_.cluster, hello.cluster());
  if (const std::string why = rpc::WhyRefused(options_.protocols, hello.protocols()); !why.empty()) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      fmt::format("{} (the gateway is of release {}, the replica of release '{}')", why,
                                  options_.version, Excerpt(hello.version())));
  }
  if (hello.slot_count() != kSlotCount) {
    return Mismatch("slot count", fmt::to_string(kSlotCount), fmt::to_string(hello.slot_count()));
  }
  BASALT_RETURN_IF_ERROR(CheckMember(hello.self()));
  if (hello.name_secret().size() < kShortestSecret || hello.name_secret().size() > kLongestSecret) {
    return Invalid(fmt::format("Hello.name_secret has {} bytes, and needs {} to {} that nobody can guess",
                               hello.name_secret().size(), kShortestSecret, kLongestSecret));
  }
  return absl::OkStatus();
}

absl::Status Hub::CheckRoom(v1::ServiceKind service) const {
  const auto count = std::count_if(replicas_.begin(), replicas_.end(),
                                   [service](const auto& entry) { return entry.first.first == service; });
  if (static_cast<size_t>(count) < options_.most_replicas) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    fmt::format("{} has {} replicas already, and may have no more", ServiceName(service), count));
}

absl::Status Hub::TakeName(const rpc::AttachSink& sink, const v1::Hello& hello) {
  const v1::Member& member = hello.self();
  const auto it = replicas_.find({member.service(), member.replica()});
  Stream* const old = it == replicas_.end() ? nullptr : it->second->stream;
  const bool taken_for_dead = old != nullptr && old->session_->Lag() >= options_.ownership.grace;
  const bool is_proven = sink.is_name_proven() || !ownership_->HasOtherSecret(member, DigestOf(hello.name_secret()));
  if (!taken_for_dead && !is_proven) {
    return MakeStatus(absl::StatusCode::kUnauthenticated,
                      fmt::format("replica '{}' has another name secret. Where its disk was lost, and the secret with "
                                  "it, the name is free once nobody has been attached by it for {}",
                                  member.replica(), absl::FormatDuration(options_.ownership.grace)));
  }
  if (it == replicas_.end()) return CheckRoom(member.service());
  if (old == nullptr) return absl::OkStatus();
  if (!taken_for_dead && it->second->member.incarnation() != member.incarnation()) {
    return MakeStatus(absl::StatusCode::kAlreadyExists,
                      fmt::format("replica '{}' is attached as incarnation '{}' and acknowledges; this one is '{}'",
                                  member.replica(), it->second->member.incarnation(), member.incarnation()));
  }
  old->End(MakeStatus(absl::StatusCode::kAborted,
                      fmt::format("replaced by a newer stream of incarnation '{}'", member.incarnation())));
  return absl::OkStatus();
}

absl::Status Hub::Hello(Stream& stream, rpc::AttachSink& sink, const v1::Hello& hello) {
  std::string_view reason = "hello";
  absl::Status status = CheckHello(hello);
  if (status.ok() && !leads()) return CheckLeading();
  if (status.ok()) {
    status = ownership_->CheckEpochs(hello);
    if (!status.ok()) reason = "epoch";
  }
  if (status.ok()) {
    status = TakeName(sink, hello);
    if (absl::IsResourceExhausted(status)) {
      reason = "too_many";
    } else if (!status.ok()) {
      reason = absl::IsUnauthenticated(status) ? "secret" : "name";
    }
  }
  if (!status.ok()) {
    Refuse("attach", hello.self(), reason, status);
    return status;
  }
  const v1::Member& self = hello.self();
  auto& replica = replicas_[{self.service(), self.replica()}];
  if (!replica) replica = std::make_unique<Replica>(options_.tombstone_bytes);
  // Requests that this very process has sent before may still arrive, with the token that it has.
  const bool is_same_process =
      replica->member.incarnation() == self.incarnation() && IsSameToken(replica->name_secret, hello.name_secret());
  if (replica->token.empty() || !is_same_process) replica->token = MakeUuid(random_);
  replica->name_secret = hello.name_secret();
  replica->member = self;
  replica->version = hello.version();
  replica->protocols = hello.protocols();
  replica->stream = &stream;
  replica->attached = loop_.Now();
  stream.session_ = std::make_unique<Session>(
      loop_, cache_, self, replica->tombstones, sink, [this] { return kube_.ApiTimeMs(); }, options_.session);
  stream.session_->SetToken(replica->token);
  obs::LogInfo("replica attached", {{"service", std::string(ServiceName(self.service()))},
                                    {"replica", self.replica()},
                                    {"incarnation", self.incarnation()},
                                    {"address", self.address()}});
  if (const size_t refused = ownership_->Attach(hello, DigestOf(hello.name_secret()), loop_.Now()); refused > 0) {
    obs::LogWarning("records that a replica holds are not believed: their slots were not its own in that epoch",
                    {{"replica", self.replica()}, {"slots", fmt::to_string(refused)}});
  }
  if (ownership_->assignment().epoch() > 0) stream.session_->SetAssignment(ownership_->assignment());
  ReconcileMembership();
  AdvanceAll(self.service());
  if (hello.record_inventory_size() > 0) {
    std::vector<uint32_t> held;
    rpc::ForEachHeldSlot(hello.record_inventory(), [&](uint32_t slot, int64_t, bool) { held.push_back(slot); });
    SendLeftovers(self.service(), held, self.replica());
  }
  if (stats_timer_ == kNoTimer) UpdateStats();
  return absl::OkStatus();
}

void Hub::Detach(Stream& stream) {
  if (!stream.session_) return;
  interests_.Forget(*stream.session_);
  owner_interests_.Forget(*stream.session_);
  const v1::Member& self = stream.session_->self();
  const auto it = replicas_.find({self.service(), self.replica()});
  if (it == replicas_.end() || it->second->stream != &stream) return;
  it->second->stream = nullptr;
  obs::LogInfo("replica detached", {{"replica", self.replica()}, {"incarnation", self.incarnation()}});
  ownership_->Detach(self, loop_.Now());
  ReconcileMembership();
}

}  // namespace basalt::gateway
