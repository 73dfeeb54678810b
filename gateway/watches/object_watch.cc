#include "gateway/watches/object_watch.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/status.h"
#include "common/kube/object_key.h"
#include "common/obs/log.h"
#include "gateway/health/problem.h"
#include "gateway/health/readiness.h"
#include "gateway/kube/write/kube_request.h"
#include "gateway/route/object_ref.h"
#include "gateway/watches/watch_errors.h"

namespace basalt::gateway {
namespace {

ReflectorOptions OptionsFor(const v1::Resource& resource, const std::string& ns, const std::string& name,
                            absl::Duration slow_retry) {
  ReflectorOptions options;
  options.watch = fmt::format("{} {}", ResourceName(resource, ""), kube::ObjectKey(ns, name));
  options.path = *CollectionPath(resource, ns);
  options.kind = KindOf(resource.group(), resource.plural());
  options.field_selector = fmt::format("metadata.name={}", name);
  options.streaming_list = ReflectorOptions::StreamingList::kOff;
  options.slow_retry = slow_retry;
  return options;
}

}  // namespace

ReflectedObject::ReflectedObject(const Shared& shared, const v1::Resource& resource, const std::string& ns,
                                 const std::string& name, ObjectSeen seen)
    : metrics_(shared.metrics),
      resource_(ResourceName(resource, "")),
      name_(name),
      seen_(std::move(seen)),
      reflector_(shared.loop, shared.client, shared.random, OptionsFor(resource, ns, name, shared.slow_retry), *this,
                 &shared.clock) {
  reflector_.Start();
}

void ReflectedObject::See(kube::v1::Object object) {
  seen_(std::make_shared<const kube::v1::Object>(std::move(object)));
}

void ReflectedObject::OnReplace(std::vector<Decoded> objects, int64_t) {
  for (Decoded& decoded : objects) {
    if (RefOf(decoded.object).name == name_) return See(std::move(decoded.object));
  }
  seen_(nullptr);
}

void ReflectedObject::OnEvent(WatchType type, Decoded& decoded, int64_t) {
  if (RefOf(decoded.object).name != name_) return;
  if (type == WatchType::kDeleted) return seen_(nullptr);
  See(std::move(decoded.object));
}

void ReflectedObject::OnAbsent() {
  const Problem problem = AbsentWatch(resource_, "", {});
  CountWatchError(metrics_, resource_, problem.state);
  seen_(MakeStatus(absl::StatusCode::kNotFound, problem.why));
}

void ReflectedObject::OnForbidden(const std::string& message) {
  const Problem problem = ForbiddenWatch(resource_, message);
  CountWatchError(metrics_, resource_, problem.state);
  obs::LogError("an object must not be watched and is read instead",
                {{"resource", resource_}, {"name", name_}, {"why", problem.why}, {"cure", problem.cure}});
  seen_(MakeStatus(absl::StatusCode::kPermissionDenied, message));
}

void ReflectedObject::OnError(const absl::Status& status) { ReportWatchError(metrics_, resource_, status); }

}  // namespace basalt::gateway
