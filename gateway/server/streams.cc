#include "gateway/server/streams.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "common/base/excerpt.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/name_rules.h"
#include "common/obs/log.h"
#include "common/rpc/request_bounds.h"
#include "gateway/access/permissions.h"
#include "gateway/route/owner_watch.h"

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

void NotifySession(Session& session, const InterestKey& key, std::shared_ptr<const kube::v1::Object> object) {
  session.OnInterest(key, std::move(object));
}

}  // namespace

// The transport owns the stream. The replica refers to it while it is that replica's.
class Streams::Stream : public rpc::AttachSession, public ReplicaStream {
 public:
  Stream(Streams& streams, rpc::AttachSink& sink) : streams_(streams), sink_(sink), alive_(streams.alive_) {}
  ~Stream() override { Stream::OnClosed(); }

  void OnRequest(v1::AttachRequest request) override;
  void OnSent() override;
  void OnClosed() override;

  // Requires: the replica was let in.
  Session& session() override { return *session_; }
  bool has_session() const { return session_ != nullptr; }
  void SetSession(std::unique_ptr<Session> session) { session_ = std::move(session); }
  void End(const absl::Status& status) override;

 private:
  absl::Status Handle(const v1::AttachRequest& request);

  Streams& streams_;
  rpc::AttachSink& sink_;
  std::shared_ptr<bool> alive_;
  std::unique_ptr<Session> session_;
  bool ended_ = false;
};

void Streams::Stream::OnRequest(v1::AttachRequest request) {
  if (ended_) return;
  if (const absl::Status status = Handle(request); !status.ok()) End(status);
}

void Streams::Stream::OnSent() {
  if (session_ && !ended_) session_->OnSent();
}

void Streams::Stream::OnClosed() {
  ended_ = true;
  if (*alive_) streams_.Detach(*this);
  session_.reset();
}

void Streams::Stream::End(const absl::Status& status) {
  if (ended_) return;
  ended_ = true;
  if (session_) {
    session_->Close(status);
  } else {
    sink_.Close(status);
  }
  streams_.Detach(*this);
}

absl::Status Streams::Stream::Handle(const v1::AttachRequest& request) {
  BASALT_RETURN_IF_ERROR(rpc::CheckRequest(request));
  if (!session_) {
    if (request.has_hello()) return streams_.Hello(*this, sink_, request.hello());
    return Invalid("the first message of a stream is Hello");
  }
  const v1::Member& self = session_->self();
  switch (request.message_case()) {
    case v1::AttachRequest::kAck: {
      const absl::Status status = session_->OnAck(request.ack().sequence());
      streams_.moves_.OnAck(*session_);
      return status;
    }
    case v1::AttachRequest::kInterest:
      return streams_.HandleInterest(*session_, request.interest());
    case v1::AttachRequest::kReleased:
      streams_.membership_.Release(self, request.released());
      return absl::OkStatus();
    case v1::AttachRequest::kRecordsImported:
      streams_.moves_.OnImported(self, request.records_imported());
      return absl::OkStatus();
    case v1::AttachRequest::kOrphansRemoved:
      if (request.orphans_removed().source().service() != self.service()) {
        return Invalid("OrphanedRecords.source is of another service");
      }
      streams_.moves_.OnOrphansRemoved(request.orphans_removed());
      return absl::OkStatus();
    case v1::AttachRequest::kLeave:
      obs::LogInfo("replica leaves", {{"replica", self.replica()}});
      streams_.membership_.Leave(self);
      return absl::OkStatus();
    case v1::AttachRequest::kHello:
      return Invalid("Hello is said once in a stream");
    case v1::AttachRequest::MESSAGE_NOT_SET:
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

Streams::Streams(Loop& loop, Random& random, KubeAccess& kube, const Cache& cache, Leadership& leadership,
                 Replicas& replicas, SlotMoves& moves, Membership& membership, Refusals& refusals,
                 StreamOptions options, std::function<void()> on_attached)
    : loop_(loop),
      random_(random),
      kube_(kube),
      cache_(cache),
      leadership_(leadership),
      replicas_(replicas),
      moves_(moves),
      membership_(membership),
      refusals_(refusals),
      options_(std::move(options)),
      on_attached_(std::move(on_attached)),
      interests_(loop, kube, options_.interests, NotifySession),
      owner_interests_(loop, kube, NotifySession) {}

std::unique_ptr<rpc::AttachSession> Streams::Open(rpc::AttachSink& sink) {
  return std::make_unique<Stream>(*this, sink);
}

absl::Status Streams::HandleInterest(Session& session, const v1::Interest& interest) {
  const InterestKey key{interest.watch(), interest.namespace_(), interest.name()};
  if (!interest.withdraw()) {
    if (const Permission may = CheckInterest(session.self().service(), key.watch); !may.status.ok()) {
      refusals_.Note("interest", session.self(), NameOf(may.refusal), may.status);
      return may.status;
    }
  }
  const auto handle = [&](auto& interests) {
    return interest.withdraw() ? interests.Withdraw(session, key) : interests.Add(session, key);
  };
  IsOwnerWatch(key.watch) ? handle(owner_interests_) : handle(interests_);
  return absl::OkStatus();
}

absl::Status Streams::CheckHello(const v1::Hello& hello) const {
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

absl::Status Streams::CheckRoom(v1::ServiceKind service) const {
  const size_t count = replicas_.CountOf(service);
  if (count < options_.most_replicas) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    fmt::format("{} has {} replicas already, and may have no more", ServiceName(service), count));
}

absl::Status Streams::TakeName(const rpc::AttachSink& sink, const v1::Hello& hello) {
  const v1::Member& member = hello.self();
  const Replica* known = replicas_.Find(member.service(), member.replica());
  ReplicaStream* const old = known == nullptr ? nullptr : known->stream;
  const bool taken_for_dead = old != nullptr && old->session().Lag() >= options_.grace;
  const bool is_proven =
      sink.is_name_proven() || !leadership_.ownership().HasOtherSecret(member, DigestOf(hello.name_secret()));
  if (!taken_for_dead && !is_proven) {
    return MakeStatus(absl::StatusCode::kUnauthenticated,
                      fmt::format("replica '{}' has another name secret. Where its disk was lost, and the secret with "
                                  "it, the name is free once nobody has been attached by it for {}",
                                  member.replica(), absl::FormatDuration(options_.grace)));
  }
  if (known == nullptr) return CheckRoom(member.service());
  if (old == nullptr) return absl::OkStatus();
  if (!taken_for_dead && known->member.incarnation() != member.incarnation()) {
    return MakeStatus(absl::StatusCode::kAlreadyExists,
                      fmt::format("replica '{}' is attached as incarnation '{}' and acknowledges; this one is '{}'",
                                  member.replica(), known->member.incarnation(), member.incarnation()));
  }
  old->End(MakeStatus(absl::StatusCode::kAborted,
                      fmt::format("replaced by a newer stream of incarnation '{}'", member.incarnation())));
  return absl::OkStatus();
}

absl::Status Streams::LetIn(const rpc::AttachSink& sink, const v1::Hello& hello) {
  std::string_view reason = "hello";
  absl::Status status = CheckHello(hello);
  if (status.ok() && !leadership_.leads()) return leadership_.Check();
  if (status.ok()) {
    status = leadership_.ownership().CheckEpochs(hello);
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
  if (!status.ok()) refusals_.Note("attach", hello.self(), reason, status);
  return status;
}

absl::Status Streams::Hello(Stream& stream, rpc::AttachSink& sink, const v1::Hello& hello) {
  BASALT_RETURN_IF_ERROR(LetIn(sink, hello));
  const v1::Member& self = hello.self();
  Replica& replica = replicas_.FindOrMake(self.service(), self.replica());
  // Requests that this very process has sent before may still arrive, with the token that it has.
  const bool is_same_process =
      replica.member.incarnation() == self.incarnation() && replica.HasNameSecret(hello.name_secret());
  if (replica.token.empty() || !is_same_process) replica.token = MakeUuid(random_);
  replica.name_secret = hello.name_secret();
  replica.member = self;
  replica.version = hello.version();
  replica.protocols = hello.protocols();
  replica.stream = &stream;
  replica.attached = loop_.Now();
  stream.SetSession(std::make_unique<Session>(
      loop_, cache_, self, replica.tombstones, sink, [this] { return kube_.ApiTimeMs(); }, options_.session));
  stream.session().SetToken(replica.token);
  obs::LogInfo("replica attached", {{"service", std::string(ServiceName(self.service()))},
                                    {"replica", self.replica()},
                                    {"incarnation", self.incarnation()},
                                    {"address", self.address()}});
  membership_.Attach(hello, DigestOf(hello.name_secret()), stream.session());
  on_attached_();
  return absl::OkStatus();
}

void Streams::Detach(Stream& stream) {
  if (!stream.has_session()) return;
  interests_.Forget(stream.session());
  owner_interests_.Forget(stream.session());
  const v1::Member& self = stream.session().self();
  Replica* replica = replicas_.Find(self.service(), self.replica());
  if (replica == nullptr || replica->stream != &stream) return;
  replica->stream = nullptr;
  obs::LogInfo("replica detached", {{"replica", self.replica()}, {"incarnation", self.incarnation()}});
  membership_.Detach(self);
}

}  // namespace basalt::gateway
