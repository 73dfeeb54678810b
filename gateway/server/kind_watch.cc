#include "gateway/server/kind_watch.h"

#include <utility>

#include "common/obs/log.h"
#include "gateway/health/problem.h"
#include "gateway/health/readiness.h"
#include "gateway/kube/write/kube_request.h"
#include "gateway/server/watch_errors.h"

namespace basalt::gateway {
namespace {

ReflectorOptions OptionsFor(const v1::Resource& resource, absl::Duration slow_retry) {
  ReflectorOptions options;
  options.watch = ResourceName(resource, "");
  options.path = *CollectionPath(resource, "");
  options.kind = ObjectKind::kOwner;
  options.distrusts_first_refusal = true;  // Groups are written by what it says.
  options.streaming_list = ReflectorOptions::StreamingList::kOff;
  options.slow_retry = slow_retry;
  return options;
}

}  // namespace

ReflectedKind::ReflectedKind(const ReflectedObject::Shared& shared, const v1::Resource& resource,
                             KindListener& listener)
    : metrics_(shared.metrics),
      resource_(ResourceName(resource, "")),
      listener_(listener),
      reflector_(shared.loop, shared.client, shared.random, OptionsFor(resource, shared.slow_retry), *this,
                 &shared.clock) {
  reflector_.Start();
}

void ReflectedKind::OnReplace(std::vector<Decoded> objects, int64_t) {
  std::vector<kube::v1::Object> list;
  list.reserve(objects.size());
  for (Decoded& decoded : objects) list.push_back(std::move(decoded.object));
  listener_.OnReplaced(std::move(list));
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
