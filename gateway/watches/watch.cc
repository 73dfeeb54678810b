#include "gateway/watches/watch.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "common/http/target.h"
#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "common/obs/log.h"
#include "gateway/kube/kind_finder.h"
#include "gateway/route/object_ref.h"
#include "gateway/watches/watch_errors.h"

namespace basalt::gateway {

std::vector<ReflectorOptions> WatchesFor(const WatchedSchedulers& schedulers, bool streaming_lists) {
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
  const auto add_pods_of = [&](const std::string& name) {
    ReflectorOptions& pods = add(std::string(kube::kWatchSchedulerPodsPrefix) + name, "/api/v1/pods", ObjectKind::kPod);
    pods.field_selector = "spec.schedulerName=" + name;
    pods.label_selector = fmt::format("!{}", kube::kJobNameKey);
  };
  const auto add_definition_of = [&](const kube::Kind& kind, std::string_view id) {
    add(id, custom("apiextensions.k8s.io/v1", "customresourcedefinitions"), ObjectKind::kClusterRule).field_selector =
        fmt::format("metadata.name={}.{}", kind.plural, kind.group);
  };
  for (const std::string& name : schedulers.names) add_pods_of(name);
  for (const std::string& name : schedulers.kai_names) add_pods_of(name);
  if (!schedulers.kai_names.empty()) {
    const kube::Kind& groups = kube::kKaiPodGroups;
    add(kube::kWatchKaiPodGroups, custom(fmt::format("{}/{}", groups.group, groups.version), groups.plural),
        ObjectKind::kKaiPodGroup);
    const kube::Kind& queues = kube::kKaiQueues;
    add(kube::kWatchKaiQueues, custom(fmt::format("{}/{}", queues.group, queues.version), queues.plural),
        ObjectKind::kKaiQueue);
    add_definition_of(groups, kube::kWatchKaiDefinition);
  }
  if (schedulers.is_rich) add_definition_of(kube::kPodGroups, kube::kWatchPodGroupDefinition);
  if (!schedulers.kai_names.empty() || schedulers.is_rich) {
    add(kube::kWatchKartas, custom("run.ai/v1alpha1", "kartas"), ObjectKind::kClusterRule);
  }
  if (schedulers.is_rich) return watches;  // Groups read owners instead.
  for (const kube::Kind& kind : kube::kWorkloadKinds) {
    add(fmt::format("{}{}", kube::kWatchWorkloadsPrefix, kind.plural),
        custom(fmt::format("{}/{}", kind.group, kind.version), kind.plural), ObjectKind::kWorkload)
        .schedulers = schedulers.names;
  }
  return watches;
}

namespace {

// Splits "/apis/batch.volcano.sh/v1alpha1/jobs" into its parts. The core group has no path of its own to ask.
struct PathParts {
  explicit PathParts(std::string_view path) {
    const http::Target target = http::ParseTarget(path);
    if (target.segments.size() < 3) return;
    plural = target.segments.back();
    version = target.segments[target.segments.size() - 2];
    if (target.segments.front() == "apis") group = target.segments[1];
  }
  std::string Resource() const { return group.empty() ? plural : fmt::format("{}.{}", plural, group); }
  std::string GroupPath() const { return group.empty() ? std::string() : fmt::format("/apis/{}", group); }

  std::string group, version, plural;
};

// Returns null if the watch of that id shows no workloads.
const kube::Kind* WorkloadKindOf(std::string_view id) {
  for (const kube::Kind& kind : kube::kWorkloadKinds) {
    if (id.starts_with(kube::kWatchWorkloadsPrefix) && id.substr(kube::kWatchWorkloadsPrefix.size()) == kind.plural) {
      return &kind;
    }
  }
  return nullptr;
}

}  // namespace

Watch::Watch(const Shared& shared, WatchIndex index, ReflectorOptions options)
    : shared_(shared),
      index_(index),
      id_(options.watch),
      target_("watch " + options.watch),
      resource_(PathParts(options.path).Resource()),
      group_path_(PathParts(options.path).GroupPath()),
      version_(PathParts(options.path).version),
      slow_retry_(options.slow_retry),
      workload_kind_(WorkloadKindOf(id_)),
      schedulers_(options.schedulers),
      events_(shared.metrics.GetCounter("basalt_gateway_watch_events_total", "Events of watches.", {{"watch", id_}})),
      lists_(shared.metrics.GetCounter("basalt_gateway_lists_total",
                                       "Lists of all objects of the watch, the first list included.",
                                       {{"watch", id_}})),
      reflector_(shared.loop, shared.client, shared.random, std::move(options), *this, &shared.clock) {
  shared_.readiness.Set(target_, {.ready = false, .state = "starting", .why = "not listed yet", .cure = ""});
}

Watch::~Watch() { shared_.loop.Cancel(versions_timer_); }

void Watch::OnReplace(std::vector<Decoded> objects, int64_t resource_version) {
  lists_.Add();
  std::vector<kube::v1::Object> list;
  list.reserve(objects.size());
  for (Decoded& decoded : objects) {
    if (decoded.object.has_workload()) {
      if (!IsOurs(decoded.object.workload())) continue;
      SetKind(*decoded.object.mutable_workload());
    }
    shared_.unreadable.Note(id_, decoded);
    list.push_back(std::move(decoded.object));
  }
  shared_.cache.Replace(index_, list, resource_version);
  listed_ = true;
  SetListed();
  obs::LogInfo("listed", {{"watch", id_},
                          {"objects", fmt::to_string(list.size())},
                          {"resource_version", fmt::to_string(resource_version)}});
}

void Watch::OnEvent(WatchType type, Decoded& decoded, int64_t resource_version) {
  events_.Add();
  NoteServed();
  const kube::v1::Object& object = decoded.object;
  const bool is_old_news =
      (object.has_workload() && !ChangesWorkload(type, *decoded.object.mutable_workload())) ||
      (object.has_kai_pod_group() && !Changes(type, object, &kube::v1::Object::mutable_kai_pod_group)) ||
      (object.has_kai_queue() && !Changes(type, object, &kube::v1::Object::mutable_kai_queue)) ||
      (object.has_generic() && !Changes(type, object, &kube::v1::Object::mutable_generic));
  if (is_old_news) {
    return shared_.cache.Bookmark(index_, resource_version);
  }
  shared_.unreadable.Note(id_, decoded);
  if (type == WatchType::kDeleted) {
    SetResourceVersion(decoded.object, resource_version);
    shared_.cache.Remove(index_, decoded.object);
  } else {
    shared_.cache.Apply(index_, decoded.object);
  }
}

void Watch::SetKind(kube::v1::Workload& workload) const {
  workload.set_api_version(fmt::format("{}/{}", workload_kind_->group, workload_kind_->version));
  workload.set_kind(std::string(workload_kind_->name));
}

bool Watch::IsOurs(const kube::v1::Workload& workload) const {
  return std::find(schedulers_.begin(), schedulers_.end(), workload.scheduler_name()) != schedulers_.end();
}

bool Watch::ChangesWorkload(WatchType type, kube::v1::Workload& workload) const {
  SetKind(workload);
  const bool is_ours = IsOurs(workload);
  const ObjectId id = shared_.cache.Find(index_, workload.meta().uid());
  if (id == kNoObject) return is_ours;
  if (type == WatchType::kDeleted) return true;
  if (!is_ours) workload.clear_scheduler_name();  // Replicas that know the workload learn that it has left.
  kube::v1::Workload known = shared_.cache.Read(id).workload();
  known.mutable_meta()->set_resource_version(workload.meta().resource_version());
  known.mutable_meta()->set_generation(workload.meta().generation());
  return known.SerializeAsString() != workload.SerializeAsString();
}

template <typename Kind>
bool Watch::Changes(WatchType type, const kube::v1::Object& object, Kind* (kube::v1::Object::*part)()) const {
  const ObjectRef ref = RefOf(object);
  const ObjectId id = shared_.cache.Find(index_, ref.uid);
  if (id == kNoObject || type == WatchType::kDeleted) return true;
  kube::v1::Object known = shared_.cache.Read(id);
  kube::v1::Object now = object;
  for (kube::v1::Object* one : {&known, &now}) {
    kube::v1::ObjectMeta& meta = *(one->*part)()->mutable_meta();
    meta.clear_resource_version();
    meta.clear_generation();
  }
  return known.SerializeAsString() != now.SerializeAsString();
}

void Watch::OnBookmark(int64_t resource_version) {
  NoteServed();
  shared_.cache.Bookmark(index_, resource_version);
}

void Watch::NoteServed() {
  if (!listed_) return;
  if (failing_since_ != absl::InfiniteFuture()) SetListed();
  if (shared_.cache.watches()[index_].state == v1::Mark::STATE_READY) return;
  shared_.cache.SetState(index_, v1::Mark::STATE_READY);
  SetListed();
}

void Watch::SetListed() {
  absent_ = false;
  failing_since_ = absl::InfiniteFuture();
  versions_call_.reset();
  shared_.loop.Cancel(std::exchange(versions_timer_, kNoTimer));
  shared_.readiness.Set(target_, {.ready = true, .state = "listed", .why = "", .cure = ""});
}

void Watch::OnAbsent() {
  shared_.readiness.OnAnswer();
  const Problem problem = AbsentWatch(resource_, version_, {});
  CountWatchError(shared_.metrics, id_, problem.state);
  obs::LogWarning(problem.why, {{"watch", id_}, {"cure", problem.cure}});
  shared_.cache.SetState(index_, v1::Mark::STATE_ABSENT);
  absent_ = true;
  shared_.readiness.Set(target_, {.ready = true, .state = problem.state, .why = problem.why, .cure = problem.cure});
  AskVersions();
}

void Watch::AskVersions() {
  if (group_path_.empty()) return;
  versions_call_ = http::Fetch(
      shared_.client, {.target = group_path_, .headers = {{"Accept", "application/json"}}},
      [this](absl::StatusOr<http::Response> answer) { OnVersions(std::move(answer)); }, 1 << 20);
}

void Watch::OnVersions(absl::StatusOr<http::Response> answer) {
  versions_timer_ = shared_.loop.RunAfter(slow_retry_, [this] {
    versions_timer_ = kNoTimer;
    if (absent_) AskVersions();
  });
  if (!answer.ok() || !absent_) return;
  const Problem problem = AbsentWatch(resource_, version_, VersionsIn(*answer));
  if (problem.state == "version") obs::LogError(problem.why, {{"watch", id_}, {"cure", problem.cure}});
  shared_.readiness.Set(
      target_, {.ready = problem.state == "absent", .state = problem.state, .why = problem.why, .cure = problem.cure});
}

void Watch::OnForbidden(const std::string& message) {
  shared_.readiness.OnAnswer();
  const Problem problem = ForbiddenWatch(resource_, message);
  CountWatchError(shared_.metrics, id_, problem.state);
  obs::LogError("watch is forbidden", {{"watch", id_}, {"why", problem.why}, {"cure", problem.cure}});
  absent_ = false;
  // Without this watch, groups do not follow the owners of their pods, or are not KAI's, or KAI's queues are not shown:
  // that is no reason to hold back all others.
  const bool is_needed = workload_kind_ == nullptr && !kube::IsGroupingWatch(id_) && id_ != kube::kWatchKaiQueues;
  shared_.cache.SetState(index_, is_needed ? v1::Mark::STATE_FORBIDDEN : v1::Mark::STATE_ABSENT);
  shared_.readiness.SetProblem(target_, problem);
}

void Watch::OnError(const absl::Status& status) {
  const Problem problem = ProblemOf(status);
  CountWatchError(shared_.metrics, id_, problem.state);
  obs::LogWarning("watch failed, trying again", {{"watch", id_}, {"state", problem.state}, {"why", problem.why}});
  if (problem.OfConnection()) {
    shared_.readiness.OnProblem(problem);
  } else {
    shared_.readiness.OnAnswer();
  }
  if (!listed_) {
    if (shared_.cache.watches()[index_].resolved()) return;
    return shared_.readiness.SetProblem(target_, problem);
  }
  if (problem.OfConnection()) return;
  failing_since_ = std::min(failing_since_, shared_.loop.Now());
  if (shared_.loop.Now() - failing_since_ < shared_.readiness.options().patience) return;
  shared_.readiness.SetProblem(target_, problem);
}

}  // namespace basalt::gateway
