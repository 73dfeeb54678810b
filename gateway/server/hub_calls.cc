// What replicas write and read: who may, and what becomes of it.
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/obs/log.h"
#include "gateway/access/answers.h"
#include "gateway/kube/write/writer.h"
#include "gateway/server/hub.h"
#include "gateway/server/hub_stream.h"

namespace basalt::gateway {
namespace {

// By then nothing of an unanswered write is still under way at the server.
constexpr absl::Duration kServerSlack = absl::Seconds(1);

// Which watches may know an object of that resource.
std::string WatchPrefix(const v1::Resource& resource) {
  return resource.group().empty() ? resource.plural() + "/" : fmt::format("{}.{}", resource.plural(), resource.group());
}

// What the sender is told of the answer.
template <typename Request, typename Response>
absl::StatusOr<Response> Reduced(const Request& request, absl::StatusOr<Response> answer) {
  if (!answer.ok()) return ReduceStatus(request.resource(), answer.status());
  if (answer->has_object()) ReduceObject(request.owner(), request.resource(), *answer->mutable_object());
  if (answer->has_error()) ReduceError(request.resource(), *answer->mutable_error());
  return answer;
}

}  // namespace

bool IsSameToken(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  // It takes as long wherever they differ.
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

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
    const bool unknown = absl::IsUnknown(answer.status()) || absl::IsDeadlineExceeded(answer.status());
    done(Reduced(head, std::move(answer)));
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
  const v1::GetRequest head = request;
  request.clear_owner();
  kube_.Get(std::move(request), [head, done = std::move(done)](absl::StatusOr<v1::GetResponse> answer) mutable {
    done(Reduced(head, std::move(answer)));
  });
}

}  // namespace basalt::gateway
