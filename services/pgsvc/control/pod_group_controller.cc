#include "services/pgsvc/control/pod_group_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/json.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/kube/names.h"
#include "common/kube/resources/pod_group.h"
#include "common/kube/text.h"
#include "common/obs/log.h"
#include "common/reconcile/back_off.h"
#include "services/pgsvc/core/ensure.h"

namespace basalt::pgsvc {
namespace {

constexpr absl::Duration kFirstBackoff = absl::Milliseconds(200);
constexpr absl::Duration kLongestBackoff = absl::Seconds(60);  // Weakness W9: capped.

std::pair<std::string, std::string> SplitKey(std::string_view key) {
  const size_t slash = key.find('/');
  return {std::string(key.substr(0, slash)), std::string(key.substr(slash + 1))};
}

gateway::v1::WriteRequest GroupWrite(std::string_view key) {
  gateway::v1::WriteRequest request;
  request.mutable_resource()->set_group("scheduling.volcano.sh");
  request.mutable_resource()->set_version("v1beta1");
  request.mutable_resource()->set_plural("podgroups");
  const auto [ns, name] = SplitKey(key);
  request.set_namespace_(ns);
  request.set_name(name);
  return request;
}

absl::Status GoingAway(std::string_view key) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    fmt::format("pod group {} of an older version is still being deleted", key));
}

// A refusal that no repetition will change: the caller's fields are wrong, or a right is missing.
bool IsFinal(const gateway::v1::KubeError& error) {
  return error.code() == 400 || error.code() == 403 || error.code() == 422;
}

}  // namespace

PodGroupController::PodGroupController(runtime::Context& context, GroupingOptions options)
    : context_(context), options_(options) {}

PodGroupController::~PodGroupController() = default;

PodGroupController::Group* PodGroupController::Find(std::string_view key) {
  const auto found = groups_.find(key);
  return found == groups_.end() ? nullptr : &found->second;
}

void PodGroupController::EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest request,
                                        rpc::Done<podgroup::v1::EnsurePodGroupResponse> done) {
  const std::string key = fmt::format("{}/{}", request.namespace_(), request.name());
  if (request.namespace_().empty() || request.name().empty() || request.job_uid().empty()) {
    done(Invalid("namespace, name and job_uid are required"));
    return;
  }
  if (!context_.IsReady(SlotOf(key))) {
    done(MakeStatus(absl::StatusCode::kUnavailable, fmt::format("the slot of {} is not ready here", key)));
    return;
  }
  Group& group = groups_[key];
  group.waiters.push_back({std::move(request), std::move(done)});
  ServeWaiters(key, group);
}

absl::StatusOr<std::vector<runtime::KnownObject>> PodGroupController::OpenSlot(uint32_t) {
  return std::vector<runtime::KnownObject>();
}

void PodGroupController::CloseSlot(uint32_t slot) {
  for (auto group = groups_.begin(); group != groups_.end();) {
    if (SlotOf(group->first) != slot) {
      ++group;
      continue;
    }
    while (!group->second.waiters.empty()) {
      Finish(group->second, MakeStatus(absl::StatusCode::kUnavailable, "the slot has moved to another replica"));
    }
    group = groups_.erase(group);
  }
}

void PodGroupController::OnState(std::string_view routing_key, const std::string&, kube::v1::Object&& object) {
  if (object.has_pod_group()) {
    groups_[std::string(routing_key)].observed =
        std::make_unique<kube::v1::PodGroup>(std::move(*object.mutable_pod_group()));
  } else if (object.has_pod()) {
    Group& group = groups_[std::string(routing_key)];
    group.refused.erase(object.pod().uid());
    kube::v1::Pod& pod = group.pods[object.pod().uid()];
    pod = std::move(*object.mutable_pod());
  }
}

void PodGroupController::OnGone(std::string_view routing_key, const runtime::Gone& gone) {
  Group* group = Find(routing_key);
  if (group == nullptr) return;
  if (group->observed != nullptr && group->observed->meta().uid() == gone.uid) group->observed.reset();
  group->pods.erase(gone.uid);
  group->refused.erase(gone.uid);
}

void PodGroupController::OnShared(const std::string&, const kube::v1::Object& object, bool gone) {
  // A queue that opens lets groups through that admission refused before (weakness W9).
  if (gone || !object.has_queue()) return;
  for (auto& [key, group] : groups_) {
    if (group.failures == 0) continue;
    group.not_before = absl::InfinitePast();
    context_.Wake(key);
  }
}

void PodGroupController::Decide(std::string_view, kv::WriteBatch&) {}

void PodGroupController::Act(std::string_view key) {
  Group* group = Find(key);
  if (group == nullptr) return;
  const std::string owned(key);
  ServeWaiters(owned, *group);
  ServePods(owned, *group);
  DropIfEmpty(owned);
}

void PodGroupController::DropIfEmpty(const std::string& key) {
  const Group* group = Find(key);
  if (group != nullptr && group->observed == nullptr && group->pods.empty() && group->waiters.empty() && !group->busy &&
      group->binding.empty()) {
    groups_.erase(key);
  }
}

// ---- a job's group ----

void PodGroupController::ServeWaiters(const std::string& key, Group& group) {
  while (!group.waiters.empty() && !group.busy) {
    const podgroup::v1::EnsurePodGroupRequest& request = group.waiters.front().request;
    switch (NextEnsureStep(request, group.observed.get())) {
      case EnsureStep::kAnswer: {
        podgroup::v1::EnsurePodGroupResponse response;
        *response.mutable_pod_group() = *group.observed;
        Finish(group, std::move(response));
        break;
      }
      case EnsureStep::kForeign:
        Finish(group,
               MakeStatus(absl::StatusCode::kAlreadyExists,
                          fmt::format("pod group {} belongs to another owner; delete it or rename the job", key)));
        break;
      case EnsureStep::kWait:
        Finish(group, GoingAway(key));
        break;
      case EnsureStep::kReplace: {
        gateway::v1::WriteRequest write = GroupWrite(key);
        write.mutable_delete_()->set_uid(group.observed->meta().uid());
        write.mutable_delete_()->set_propagation_policy("Background");
        SendForWaiter(key, group, std::move(write));
        break;
      }
      case EnsureStep::kPatch: {
        gateway::v1::WriteRequest write = GroupWrite(key);
        write.mutable_patch()->set_type(gateway::v1::Patch::TYPE_MERGE);
        write.mutable_patch()->set_uid(group.observed->meta().uid());
        write.mutable_patch()->set_body(kube::PodGroupPatch(group.observed->spec(), request.spec()));
        SendForWaiter(key, group, std::move(write));
        break;
      }
      case EnsureStep::kCreate: {
        gateway::v1::WriteRequest write = GroupWrite(key);
        write.mutable_create()->set_body(kube::PodGroupBody(request));
        SendForWaiter(key, group, std::move(write));
        break;
      }
    }
  }
}

void PodGroupController::Finish(Group& group, absl::StatusOr<podgroup::v1::EnsurePodGroupResponse> answer) {
  Waiter waiter = std::move(group.waiters.front());
  group.waiters.pop_front();
  waiter.done(std::move(answer));
}

void PodGroupController::SendForWaiter(const std::string& key, Group& group, gateway::v1::WriteRequest request) {
  group.busy = true;
  context_.Write(key, std::move(request),
                 [this, key](runtime::WriteOutcome outcome) { OnGroupWritten(key, std::move(outcome)); });
}

void PodGroupController::OnGroupWritten(const std::string& key, runtime::WriteOutcome outcome) {
  Group* group = Find(key);
  if (group == nullptr) return;
  group->busy = false;
  using Kind = runtime::WriteOutcome::Kind;
  if (outcome.kind == Kind::kDone) {
    ServeWaiters(key, *group);
    return;
  }
  const bool stale = outcome.kind == Kind::kRefused && (outcome.error.code() == 404 || outcome.error.code() == 409);
  if (stale || outcome.kind == Kind::kUnknown) {
    Refresh(key);
    return;
  }
  if (group->waiters.empty()) return;
  if (outcome.kind == Kind::kRefused && IsFinal(outcome.error)) {
    Finish(*group, Invalid(fmt::format("pod group {}: {}", key, outcome.error.message())));
  } else {
    Finish(*group, MakeStatus(absl::StatusCode::kUnavailable,
                              fmt::format("pod group {}: {}", key,
                                          outcome.kind == Kind::kRefused ? outcome.error.message()
                                                                         : outcome.status.ToString())));
  }
  ServeWaiters(key, *group);
}

// Settles a conflict or a lost answer by what the API server itself says now.
void PodGroupController::Refresh(const std::string& key) {
  Group* group = Find(key);
  group->busy = true;
  gateway::v1::GetRequest request;
  const gateway::v1::WriteRequest address = GroupWrite(key);
  *request.mutable_resource() = address.resource();
  request.set_namespace_(address.namespace_());
  request.set_name(address.name());
  context_.Get(key, std::move(request), [this, key](absl::StatusOr<gateway::v1::GetResponse> answer) {
    Group* waiting = Find(key);
    if (waiting == nullptr) return;
    waiting->busy = false;
    const bool found = answer.ok() && answer->has_object() && answer->object().has_pod_group();
    const bool absent = answer.ok() && answer->has_error() && answer->error().code() == 404;
    if (found) {
      const kube::v1::PodGroup& group_now = answer->object().pod_group();
      if (waiting->observed == nullptr || waiting->observed->meta().uid() != group_now.meta().uid() ||
          waiting->observed->meta().resource_version() < group_now.meta().resource_version()) {
        waiting->observed = std::make_unique<kube::v1::PodGroup>(group_now);
      }
    } else if (absent) {
      waiting->observed.reset();
    }
    // One attempt a request: the caller asks again, so that two writers cannot make this spin.
    if (!waiting->waiters.empty()) {
      const EnsureStep step = NextEnsureStep(waiting->waiters.front().request, waiting->observed.get());
      if (step == EnsureStep::kCreate || step == EnsureStep::kPatch || step == EnsureStep::kReplace) {
        Finish(*waiting,
               MakeStatus(absl::StatusCode::kUnavailable, fmt::format("pod group {} changed meanwhile", key)));
      }
    }
    ServeWaiters(key, *waiting);
    context_.Wake(key);
  });
}

// ---- groups of plain pods ----

void PodGroupController::ServePods(const std::string& key, Group& group) {
  if (StillWaits(context_.ApiNow(), group.not_before)) {
    context_.WakeAt(key, group.not_before);
    return;
  }
  const std::string name = SplitKey(key).second;
  for (const auto& [uid, pod] : group.pods) {
    // A bound pod whose group is gone: the group is made again (weakness W3); only groups that we name.
    const bool orphaned = group.observed == nullptr && pod.group_name() == name && name == GroupName(pod) &&
                          pod.deletion_ms() == 0 && pod.phase() != kube::v1::POD_PHASE_SUCCEEDED &&
                          pod.phase() != kube::v1::POD_PHASE_FAILED;
    if (!NeedsGroup(pod) && !orphaned) continue;
    if (group.busy) return;
    if (group.observed == nullptr) {
      if (options_.inherit_owner_annotations && group.owner_annotations == nullptr) {
        FetchOwner(key, group, pod);
      } else {
        CreateForPod(key, group, pod);
      }
      return;
    }
    if (group.observed->meta().deletion_ms() != 0) return;
    if (NeedsGroup(pod) && group.binding.count(uid) == 0 && group.refused.count(uid) == 0) Bind(key, group, pod);
  }
}

void PodGroupController::FetchOwner(const std::string& key, Group& group, const kube::v1::Pod& pod) {
  const std::vector<OwnerResource> owners = AnnotatedOwners(pod);
  if (owners.empty()) {
    group.owner_annotations = std::make_unique<Annotations>();
    CreateForPod(key, group, pod);
    return;
  }
  group.busy = true;
  gateway::v1::GetRequest request;
  request.mutable_resource()->set_group(owners.front().group);
  request.mutable_resource()->set_version(owners.front().version);
  request.mutable_resource()->set_plural(owners.front().plural);
  request.set_namespace_(pod.namespace_());
  request.set_name(owners.front().name);
  context_.Get(key, std::move(request),
               [this, key, owner_uid = owners.front().uid](absl::StatusOr<gateway::v1::GetResponse> answer) {
                 Group* waiting = Find(key);
                 if (waiting == nullptr) return;
                 waiting->busy = false;
                 const bool absent = answer.ok() && answer->has_error() &&
                                     (answer->error().code() == 404 || answer->error().code() == 403);
                 if (answer.ok() && answer->has_object()) {
                   waiting->owner_annotations = std::make_unique<Annotations>();
                   const kube::v1::ObjectMeta& meta = answer->object().generic().meta();
                   if (meta.uid() == owner_uid) {
                     for (const kube::v1::KeyValue& annotation : meta.annotations()) {
                       waiting->owner_annotations->emplace(annotation.key(), annotation.value());
                     }
                   }
                 } else if (absent) {
                   waiting->owner_annotations = std::make_unique<Annotations>();
                 } else {
                   BackOff(key, *waiting);  // Never a group with the wrong minimum (weakness W8).
                   return;
                 }
                 context_.Wake(key);
               });
}

void PodGroupController::CreateForPod(const std::string& key, Group& group, const kube::v1::Pod& pod) {
  static const Annotations kNone;
  const absl::StatusOr<std::string> body =
      GroupBody(pod, group.owner_annotations == nullptr ? kNone : *group.owner_annotations, options_);
  if (!body.ok()) {
    ReportOnPod(key, group, pod, ToStd(body.status().message()));
    BackOff(key, group);
    return;
  }
  group.busy = true;
  gateway::v1::WriteRequest request = GroupWrite(key);
  request.mutable_create()->set_body(*body);
  context_.Write(key, std::move(request), [this, key, uid = pod.uid()](runtime::WriteOutcome outcome) {
    Group* written = Find(key);
    if (written == nullptr) return;
    written->busy = false;
    using Kind = runtime::WriteOutcome::Kind;
    if (outcome.kind == Kind::kDone) {
      written->failures = 0;
      written->owner_annotations.reset();
    } else if (outcome.kind == Kind::kUnknown ||
               (outcome.kind == Kind::kRefused && outcome.error.reason() == "AlreadyExists")) {
      Refresh(key);
    } else {
      const auto still = written->pods.find(uid);
      if (still != written->pods.end() && outcome.kind == Kind::kRefused) {
        ReportOnPod(key, *written, still->second, outcome.error.message());
      }
      BackOff(key, *written);
    }
  });
}

void PodGroupController::Bind(const std::string& key, Group& group, const kube::v1::Pod& pod) {
  group.binding.insert(pod.uid());
  gateway::v1::WriteRequest request;
  request.mutable_resource()->set_version("v1");
  request.mutable_resource()->set_plural("pods");
  request.set_namespace_(pod.namespace_());
  request.set_name(pod.name());
  request.mutable_patch()->set_type(gateway::v1::Patch::TYPE_STRATEGIC);
  request.mutable_patch()->set_uid(pod.uid());
  request.mutable_patch()->set_body(BindingPatch(SplitKey(key).second));
  context_.Write(key, std::move(request), [this, key, uid = pod.uid()](runtime::WriteOutcome outcome) {
    Group* written = Find(key);
    if (written == nullptr) return;
    written->binding.erase(uid);
    using Kind = runtime::WriteOutcome::Kind;
    if (outcome.kind == Kind::kDone) {
      written->failures = 0;
    } else if (outcome.kind == Kind::kRefused && (outcome.error.code() == 404 || outcome.error.code() == 409)) {
      ++written->refused[uid];  // Another pod, or none: its next state decides.
    } else {
      BackOff(key, *written);
    }
  });
}

void PodGroupController::BackOff(const std::string& key, Group& group) {
  const absl::Duration backoff = std::min(kLongestBackoff, kFirstBackoff * (1 << std::min(group.failures++, 10)));
  group.not_before = context_.ApiNow() + backoff;
  context_.WakeAt(key, group.not_before);
}

void PodGroupController::ReportOnPod(const std::string& key, Group& group, const kube::v1::Pod& pod,
                                     std::string_view message) {
  if (group.reported == message) return;
  group.reported = message;
  obs::LogWarning("pod group cannot be made", {{"group", key}, {"pod", pod.name()}, {"why", std::string(message)}});
  const std::string now = kube::FormatTime(absl::ToUnixMillis(context_.ApiNow()));
  json::object involved{
      {"apiVersion", "v1"}, {"kind", "Pod"}, {"namespace", pod.namespace_()}, {"name", pod.name()}, {"uid", pod.uid()}};
  json::object event{{"apiVersion", "v1"}, {"kind", "Event"}};
  const std::string name = fmt::format("{}.{:016x}", pod.name(), context_.random().Next());
  event["metadata"] = json::object{{"name", name}, {"namespace", pod.namespace_()}};
  event["involvedObject"] = std::move(involved);
  event["type"] = "Warning";
  event["reason"] = "PodGroupError";
  event["message"] = json::string(message);
  event["source"] = json::object{{"component", "basalt-pgsvc"}};
  event["firstTimestamp"] = now;
  event["lastTimestamp"] = now;
  event["count"] = 1;
  gateway::v1::WriteRequest request;
  request.mutable_resource()->set_version("v1");
  request.mutable_resource()->set_plural("events");
  request.set_namespace_(pod.namespace_());
  request.set_name(name);
  request.mutable_create()->set_body(ToText(event));
  context_.Write(key, std::move(request), [](runtime::WriteOutcome) {});
}

}  // namespace basalt::pgsvc
