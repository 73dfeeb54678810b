#include "gateway/server/calls.h"

#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/kube/names.h"
#include "gateway/access/answers.h"
#include "gateway/kube/write/writer.h"
#include "gateway/route/object_ref.h"

namespace basalt::gateway {
namespace {

// By then, no part of an unanswered write is still under way at the server.
constexpr absl::Duration kServerSlack = absl::Seconds(1);

// Returns the prefix of the watches that may know an object of that resource.
std::string WatchPrefix(const v1::Resource& resource) {
  return resource.group().empty() ? resource.plural() + "/" : fmt::format("{}.{}", resource.plural(), resource.group());
}

absl::Duration TimeoutOf(const v1::WriteRequest& request) {
  return request.timeout_ms() > 0 ? absl::Milliseconds(request.timeout_ms()) : WriterOptions().default_timeout;
}

// Returns the part of the answer that the sender may receive.
template <typename Request, typename Response>
absl::StatusOr<Response> Reduced(const Request& request, absl::StatusOr<Response> answer) {
  if (!answer.ok()) return ReduceStatus(request.resource(), answer.status());
  if (answer->has_object()) ReduceObject(request.owner(), request.resource(), *answer->mutable_object());
  if (answer->has_error()) ReduceError(request.resource(), *answer->mutable_error());
  return answer;
}

}  // namespace

Calls::Calls(Loop& loop, KubeAccess& kube, Cache& cache, const Leadership& leadership, const Replicas& replicas,
             SlotMoves& moves, HubMetrics& metrics, Refusals& refusals, const kube::NamespaceRules& namespaces)
    : loop_(loop),
      kube_(kube),
      cache_(cache),
      leadership_(leadership),
      replicas_(replicas),
      moves_(moves),
      metrics_(metrics),
      refusals_(refusals),
      namespaces_(namespaces) {}

void Calls::OnDeparture(const Departure& departure) {
  if (departure.service == v1::SERVICE_KIND_JOB && departure.reason == v1::Tombstone::REASON_DELETED &&
      cache_.watches()[departure.watch].id == kube::kWatchJobs) {
    memory_.JobGone(departure.routing_key, departure.uid, loop_.Now());
  }
  if (departure.reason == v1::Tombstone::REASON_LEFT) {
    memory_.ObjectMoved(departure.uid, departure.routing_key, loop_.Now());
  }
}

absl::StatusOr<const Replica*> Calls::FindSender(const v1::Owner& sender) const {
  const v1::Member& member = sender.member();
  const Replica* replica = replicas_.Find(member.service(), member.replica());
  if (replica == nullptr || replica->token.empty() || replica->member.incarnation() != member.incarnation()) {
    return MakeStatus(absl::StatusCode::kUnavailable,
                      fmt::format("replica '{}' ({}) is not attached to gateway '{}'", Excerpt(member.replica()),
                                  Excerpt(member.incarnation()), leadership_.self()));
  }
  if (replica->HasToken(sender.token())) return replica;
  return MakeStatus(absl::StatusCode::kUnauthenticated,
                    fmt::format("the token is not that of replica '{}' ({})", Excerpt(member.replica()),
                                Excerpt(member.incarnation())));
}

template <typename Request>
Permission Calls::CheckRequest(const Request& request, Permission (*check)(const Request&, const Known&)) {
  constexpr bool kIsWrite = std::is_same_v<Request, v1::WriteRequest>;
  constexpr std::string_view kCall = kIsWrite ? "write" : "get";
  Permission permission;
  if (!leadership_.leads()) {
    permission.status = leadership_.Check();
    return permission;
  }
  const v1::Owner& sender = request.owner();
  permission.status = leadership_.ownership().Check(sender);
  if (!permission.status.ok()) {
    const bool fenced = absl::IsFailedPrecondition(permission.status);
    if (fenced && kIsWrite) metrics_.WriteFenced();
    refusals_.Note(kCall, sender.member(), fenced ? "not_owner" : "nobody", permission.status);
    return permission;
  }
  const absl::StatusOr<const Replica*> replica = FindSender(sender);
  if (!replica.ok()) {
    permission.status = replica.status();
    refusals_.Note(kCall, sender.member(), absl::IsUnauthenticated(permission.status) ? "token" : "not_attached",
                   permission.status);
    return permission;
  }
  permission = check(request, known((*replica)->attached));
  if (permission.refusal != RefusalReason::kNone) {
    refusals_.Note(kCall, sender.member(), NameOf(permission.refusal), permission.status);
  }
  return permission;
}

void Calls::Write(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done) {
  Permission permission = CheckRequest(request, CheckWrite);
  if (!permission.status.ok()) {
    loop_.Post([status = std::move(permission.status), done = std::move(done)]() mutable { done(std::move(status)); });
    return;
  }
  moves_.NoteRecordsOfWriter(request.owner());
  if (permission.is_unseen) return LookAndWrite(std::move(request), std::move(done));
  Send(std::move(request), permission.job_uid, std::move(done));
}

void Calls::LookAndWrite(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done) {
  const absl::Time deadline = loop_.Now() + TimeoutOf(request);
  v1::GetRequest look;
  *look.mutable_resource() = request.resource();
  look.set_namespace_(request.namespace_());
  look.set_name(request.name());
  // The slot waits for this read, as for the write to which it leads.
  moves_.WriteBegins(request.owner().member().service(), request.owner().slot());
  kube_.Get(std::move(look), [this, alive = alive_, request = std::move(request), deadline,
                              done = std::move(done)](absl::StatusOr<v1::GetResponse> found) mutable {
    if (!*alive) return;
    const v1::ServiceKind service = request.owner().member().service();
    const uint32_t slot = request.owner().slot();
    WriteFound(std::move(request), deadline, std::move(found), std::move(done));
    moves_.WriteEnds(service, slot);
  });
}

void Calls::WriteFound(v1::WriteRequest request, absl::Time deadline, absl::StatusOr<v1::GetResponse> found,
                       rpc::Done<v1::WriteResponse> done) {
  // The slot may have moved meanwhile, and the job may have gone.
  Permission permission = CheckRequest(request, CheckWrite);
  if (!permission.status.ok()) return done(std::move(permission.status));
  if (!found.ok()) return done(ReduceStatus(request.resource(), found.status()));
  v1::WriteResponse refused;
  refused.set_api_time_ms(found->api_time_ms());
  if (found->has_error()) {
    *refused.mutable_error() = std::move(*found->mutable_error());
    ReduceError(request.resource(), *refused.mutable_error());
    return done(std::move(refused));
  }
  const ObjectRef object = RefOf(found->object());
  const std::string& wanted = request.has_delete_() ? request.delete_().uid() : request.patch().uid();
  if (!wanted.empty() && wanted != object.uid) {
    v1::KubeError& error = *refused.mutable_error();
    error.set_code(409);
    error.set_reason("Conflict");
    error.set_message(fmt::format("the object has another UID: {}", object.uid));
    error.set_existing_uid(std::string(object.uid));
    return done(std::move(refused));
  }
  permission = CheckFound(request, found->object(), known());
  if (!permission.status.ok()) {
    refusals_.Note("write", request.owner().member(), NameOf(permission.refusal), permission.status);
    return done(std::move(permission.status));
  }
  const absl::Duration left = absl::Floor(deadline - loop_.Now(), absl::Milliseconds(1));
  if (left <= absl::ZeroDuration()) {
    return done(MakeStatus(absl::StatusCode::kUnavailable, "not sent: its time ran out while the object was read"));
  }
  request.set_timeout_ms(absl::ToInt64Milliseconds(left));
  const auto bind = [&object](auto& operation) {
    operation.set_uid(std::string(object.uid));
    if (operation.resource_version() == 0) operation.set_resource_version(object.resource_version);
  };
  if (request.has_delete_()) bind(*request.mutable_delete_());
  if (request.has_patch()) bind(*request.mutable_patch());
  memory_.ObjectSeen(object.uid, OwningJob(request.owner(), found->object(), known()));
  Send(std::move(request), permission.job_uid, std::move(done));
}

void Calls::Send(v1::WriteRequest request, const std::string& job_uid, rpc::Done<v1::WriteResponse> done) {
  request.mutable_owner()->clear_token();  // Nobody needs the token from here on.
  v1::WriteRequest head;                   // The request without its body.
  *head.mutable_owner() = request.owner();
  *head.mutable_resource() = request.resource();
  head.set_namespace_(request.namespace_());
  head.set_name(request.name());
  const bool collection = request.has_delete_collection();
  const std::string verb(VerbOf(request));
  const absl::Time over = loop_.Now() + TimeoutOf(request) + kServerSlack;
  moves_.WriteBegins(request.owner().member().service(), request.owner().slot());
  metrics_.WriteBegins();
  auto on_answer = [this, alive = alive_, head = std::move(head), verb, collection, over, job_uid,
                    done = std::move(done)](absl::StatusOr<v1::WriteResponse> answer) mutable {
    if (!*alive) return;
    metrics_.WriteEnds(verb, head.resource().plural(), answer);
    if (absl::IsPermissionDenied(answer.status()))
      refusals_.Note("write", head.owner().member(), "body", answer.status());
    if (!collection) OnWritten(head, job_uid, answer);
    const bool unknown = absl::IsUnknown(answer.status()) || absl::IsDeadlineExceeded(answer.status());
    done(Reduced(head, std::move(answer)));
    const v1::ServiceKind service = head.owner().member().service();
    const uint32_t slot = head.owner().slot();
    if (!collection || !unknown) return moves_.WriteEnds(service, slot);
    // The server may still be deleting by name: the next owner of the slot must not create anything before that is
    // over.
    loop_.RunAt(over, [this, alive = alive_, service, slot] {
      if (*alive) moves_.WriteEnds(service, slot);
    });
  };
  kube_.Write(std::move(request), job_uid, std::move(on_answer));
}

void Calls::OnWritten(const v1::WriteRequest& request, const std::string& job_uid,
                      absl::StatusOr<v1::WriteResponse>& answer) {
  if (!answer.ok()) return;
  if (answer->has_object()) {
    if (answer->object().has_generic()) memory_.ObjectSeen(answer->object().generic().meta().uid(), job_uid);
    // If the object is gone already, the watch reports its end.
    if (!answer->gone()) cache_.MergeWritten(answer->object());
    return;
  }
  if (!answer->has_error()) return;  // The deletion left nothing behind.
  v1::KubeError& error = *answer->mutable_error();
  if (error.existing_uid().empty() && (error.reason() == "AlreadyExists" || error.reason() == "Conflict")) {
    error.set_existing_uid(cache_.UidOf(WatchPrefix(request.resource()), request.namespace_(), request.name()));
  }
}

void Calls::Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done) {
  Permission permission = CheckRequest(request, CheckGet);
  if (!permission.status.ok()) {
    loop_.Post([status = std::move(permission.status), done = std::move(done)]() mutable { done(std::move(status)); });
    return;
  }
  v1::GetRequest head = request;
  request.clear_owner();
  kube_.Get(std::move(request), [this, alive = alive_, head = std::move(head),
                                 done = std::move(done)](absl::StatusOr<v1::GetResponse> answer) mutable {
    if (*alive) done(ReduceAnswer(head, std::move(answer)));
  });
}

absl::StatusOr<v1::GetResponse> Calls::ReduceAnswer(const v1::GetRequest& request,
                                                    absl::StatusOr<v1::GetResponse> answer) {
  if (request.owner().member().service() == v1::SERVICE_KIND_JOB && answer.ok() && answer->has_object()) {
    kube::v1::Object& object = *answer->mutable_object();
    const std::string job = OwningJob(request.owner(), object, known());
    if (object.has_generic()) memory_.ObjectSeen(object.generic().meta().uid(), job);
    if (job.empty()) ReduceForeign(object);
  }
  return Reduced(request, std::move(answer));
}

}  // namespace basalt::gateway
