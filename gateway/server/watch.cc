#include "gateway/server/watch.h"

#include <utility>

#include <fmt/format.h>

#include "common/kube/names.h"
#include "common/obs/log.h"
#include "gateway/route/object_ref.h"

namespace basalt::gateway {

std::vector<ReflectorOptions> WatchesFor(const std::vector<std::string>& scheduler_names, bool streaming_lists) {
  std::vector<ReflectorOptions> watches;
  const auto add = [&](std::string_view id, std::string path, ObjectKind kind) -> ReflectorOptions& {
    ReflectorOptions& options = watches.emplace_back();
    options.watch = std::string(id);
    options.path = std::move(path);
    options.kind = kind;
    if (!streaming_lists) options.streaming_list = ReflectorOptions::StreamingList::kOff;
    return options;
  };
  const auto custom = [](std::string_view api_version, std::string_view plural) {
    return fmt::format("/apis/{}/{}", api_version, plural);
  };
  add(kube::kWatchJobs, custom(kube::kJobApiVersion, "jobs"), ObjectKind::kJob);
  add(kube::kWatchCommands, custom(kube::kCommandApiVersion, "commands"), ObjectKind::kCommand);
  add(kube::kWatchPodGroups, custom(kube::kSchedulingApiVersion, "podgroups"), ObjectKind::kPodGroup);
  add(kube::kWatchQueues, custom(kube::kSchedulingApiVersion, "queues"), ObjectKind::kQueue);
  add(kube::kWatchPriorityClasses, "/apis/scheduling.k8s.io/v1/priorityclasses", ObjectKind::kPriorityClass);
  add(kube::kWatchJobPods, "/api/v1/pods", ObjectKind::kPod).label_selector = std::string(kube::kJobNameKey);
  for (const std::string& name : scheduler_names) {
    ReflectorOptions& pods = add(std::string(kube::kWatchSchedulerPodsPrefix) + name, "/api/v1/pods", ObjectKind::kPod);
    pods.field_selector = "spec.schedulerName=" + name;
    pods.label_selector = fmt::format("!{}", kube::kJobNameKey);
  }
  return watches;
}

Watch::Watch(Loop& loop, http::Client& client, Random& random, ApiClock& clock, obs::Metrics& metrics,
             obs::Health& health, Cache& cache, WatchIndex index, ReflectorOptions options)
    : health_(health),
      cache_(cache),
      index_(index),
      id_(options.watch),
      target_("watch " + options.watch),
      events_(metrics.GetCounter("gateway_watch_events_total", "Events of watches.", {{"watch", id_}})),
      lists_(metrics.GetCounter("gateway_lists_total", "Whole lists, the first included.", {{"watch", id_}})),
      errors_(metrics.GetCounter("gateway_watch_errors_total", "Failures that are retried.", {{"watch", id_}})),
      undecodable_(metrics.GetCounter("gateway_undecodable_total", "Objects with fields that could not be read.",
                                      {{"watch", id_}})),
      reflector_(loop, client, random, std::move(options), *this, &clock) {
  health_.AddTarget(target_, "not listed yet");
}

Watch::~Watch() = default;

void Watch::OnReplace(std::vector<Decoded> objects, int64_t resource_version) {
  lists_.Add();
  std::vector<kube::v1::Object> list;
  list.reserve(objects.size());
  for (Decoded& decoded : objects) {
    NoteUndecodable(decoded);
    list.push_back(std::move(decoded.object));
  }
  cache_.Replace(index_, list, resource_version);
  listed_ = true;
  health_.SetReady(target_);
  obs::LogInfo("listed", {{"watch", id_},
                          {"objects", fmt::to_string(list.size())},
                          {"resource_version", fmt::to_string(resource_version)}});
}

void Watch::OnEvent(WatchType type, Decoded& decoded, int64_t resource_version) {
  events_.Add();
  NoteServed();
  NoteUndecodable(decoded);
  if (type == WatchType::kDeleted) {
    SetResourceVersion(decoded.object, resource_version);
    cache_.Remove(index_, decoded.object);
  } else {
    cache_.Apply(index_, decoded.object);
  }
}

void Watch::OnBookmark(int64_t resource_version) {
  NoteServed();
  cache_.Bookmark(index_, resource_version);
}

void Watch::NoteServed() {
  if (!listed_ || cache_.watches()[index_].state == v1::Mark::STATE_READY) return;
  cache_.SetState(index_, v1::Mark::STATE_READY);
  health_.SetReady(target_);
}

void Watch::NoteUndecodable(const Decoded& decoded) {
  if (decoded.error.empty()) return;
  undecodable_.Add();
  const ObjectRef ref = RefOf(decoded.object);
  obs::LogWarning("object has fields that cannot be read",
                  {{"watch", id_}, {"object", KeyOf(ref.ns, ref.name)}, {"why", decoded.error}});
}

void Watch::OnAbsent() {
  obs::LogWarning("the cluster does not serve this resource", {{"watch", id_}});
  cache_.SetState(index_, v1::Mark::STATE_ABSENT);
  health_.SetReady(target_);
}

void Watch::OnForbidden(const std::string& message) {
  obs::LogError("watch is forbidden", {{"watch", id_}, {"why", message}});
  cache_.SetState(index_, v1::Mark::STATE_FORBIDDEN);
  health_.SetNotReady(target_, "forbidden: " + message);
}

void Watch::OnError(const absl::Status& status) {
  errors_.Add();
  const std::string why(status.message());
  obs::LogWarning("watch failed, trying again", {{"watch", id_}, {"why", why}});
  if (!listed_ && cache_.watches()[index_].state == v1::Mark::STATE_UNSPECIFIED) health_.SetNotReady(target_, why);
}

}  // namespace basalt::gateway
