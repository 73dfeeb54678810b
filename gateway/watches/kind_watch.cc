#include "gateway/watches/kind_watch.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/status.h"
#include "common/http/target.h"
#include "common/obs/log.h"
#include "gateway/health/problem.h"
#include "gateway/health/readiness.h"
#include "gateway/kube/refusal.h"
#include "gateway/kube/write/kube_request.h"
#include "gateway/route/object_ref.h"
#include "gateway/watches/watch_errors.h"

namespace basalt::gateway {
namespace {

// A bound against an answer without end: no object is larger than etcd's 1.5 MB.
constexpr size_t kMostOfRead = 8 << 20;
constexpr absl::Duration kReadTimeout = absl::Seconds(30);

ReflectorOptions OptionsFor(const v1::Resource& resource, absl::Duration slow_retry, const KindListener& listener) {
  ReflectorOptions options;
  options.watch = ResourceName(resource, "");
  options.path = *CollectionPath(resource, "");
  options.kind = ObjectKind::kOwner;
  options.distrusts_first_refusal = true;  // A refusal decides how groups are written.
  options.streaming_list = ReflectorOptions::StreamingList::kOff;
  options.slow_retry = slow_retry;
  options.wants = [&listener](std::string_view ns, std::string_view name) { return listener.Wants(ns, name); };
  return options;
}

absl::StatusOr<ReadObject> ObjectIn(const absl::StatusOr<http::Response>& answer, const std::string& name) {
  if (!answer.ok()) return answer.status();
  if (answer->status != 200) {
    const v1::KubeError refusal = ReadRefusal(*answer);
    return MakeStatus(absl::StatusCode::kUnavailable, fmt::format("HTTP {}: {}", refusal.code(), refusal.message()));
  }
  absl::StatusOr<DecodedList> list = Decoder(ObjectKind::kOwner).DecodeList(answer->body);
  if (!list.ok()) return list.status();
  ReadObject read{.object = nullptr, .version = list->resource_version};
  for (Decoded& decoded : list->items) {
    if (RefOf(decoded.object).name != name) continue;
    read.object = std::make_shared<const kube::v1::Object>(std::move(decoded.object));
  }
  return read;
}

}  // namespace

ReflectedKind::ReflectedKind(const ReflectedObject::Shared& shared, const v1::Resource& resource,
                             KindListener& listener)
    : client_(shared.client),
      metrics_(shared.metrics),
      kind_(resource),
      resource_(ResourceName(resource, "")),
      listener_(listener),
      reflector_(shared.loop, shared.client, shared.random, OptionsFor(resource, shared.slow_retry, listener), *this,
                 &shared.clock) {
  reflector_.Start();
}

void ReflectedKind::Read(const std::string& ns, const std::string& name, rpc::Done<ReadObject> done) {
  http::Request request;
  const std::string selector = http::Escape(fmt::format("metadata.name={}", name));
  request.target = fmt::format("{}?fieldSelector={}", *CollectionPath(kind_, ns), selector);
  request.headers = {{"Accept", "application/json"}, {"User-Agent", "basalt-gateway"}};
  request.timeout = kReadTimeout;
  const uint64_t id = next_read_++;
  const auto answered = [this, id, name, done = std::make_shared<rpc::Done<ReadObject>>(std::move(done))](
                            const absl::StatusOr<http::Response>& answer) {
    const auto ended = reads_.extract(id);  // The call is destroyed last.
    (*done)(ObjectIn(answer, name));
  };
  reads_[id] = http::Fetch(client_, std::move(request), answered, kMostOfRead);
}

void ReflectedKind::OnReplace(std::vector<Decoded> objects, int64_t resource_version) {
  std::vector<kube::v1::Object> list;
  list.reserve(objects.size());
  for (Decoded& decoded : objects) list.push_back(std::move(decoded.object));
  listener_.OnReplaced(std::move(list), resource_version);
}

void ReflectedKind::OnEvent(WatchType type, Decoded& decoded, int64_t) {
  if (type == WatchType::kDeleted) return listener_.OnGone(decoded.object);
  listener_.OnState(std::move(decoded.object));
}

void ReflectedKind::OnAbsent() {
  CountWatchError(metrics_, resource_, AbsentWatch(resource_, "", {}).state);
  listener_.OnNotServed();
}

void ReflectedKind::OnForbidden(const std::string& message) {
  const Problem problem = ForbiddenWatch(resource_, message);
  CountWatchError(metrics_, resource_, problem.state);
  obs::LogError("owners of pods must not be watched: groups are those of what is below them",
                {{"resource", resource_}, {"why", problem.why}, {"cure", problem.cure}});
  listener_.OnForbidden(message);
}

void ReflectedKind::OnError(const absl::Status& status) { ReportWatchError(metrics_, resource_, status); }

}  // namespace basalt::gateway
