#include "services/pgsvc/control/compat/compat_groups.h"

#include <utility>

#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/kube/object_key.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {
namespace {

GroupRef RefOf(std::string_view scope) {
  return {.scope = std::string(scope), .name = std::string(kube::SplitKey(scope).name)};
}

}  // namespace

CompatGroups::CompatGroups(runtime::Context& context, GroupPublisher& publisher, const QueueIndex& queues,
                           GroupingOptions options)
    : context_(context),
      publisher_(publisher),
      options_(options),
      warnings_(context, queues, groups_),
      writes_(context, warnings_, groups_, options_) {}

void CompatGroups::EnsurePodGroup(podgroup::v1::EnsurePodGroupRequest request,
                                  rpc::Done<podgroup::v1::EnsurePodGroupResponse> done) {
  const std::string scope = kube::ObjectKey(request.namespace_(), request.name());
  const absl::Status check =
      writes_.calls().Check(request.namespace_(), request.name(), request.job_uid(), groups_.Find(scope));
  if (!check.ok()) return done(check);
  writes_.calls().Wait(RefOf(scope), groups_.FindOrMake(scope),
                       EnsureCall{.request = std::move(request), .done = std::move(done)});
}

void CompatGroups::DeletePodGroup(podgroup::v1::DeletePodGroupRequest request,
                                  rpc::Done<podgroup::v1::DeletePodGroupResponse> done) {
  const std::string scope = kube::ObjectKey(request.namespace_(), request.name());
  const absl::Status check =
      writes_.calls().Check(request.namespace_(), request.name(), request.job_uid(), groups_.Find(scope));
  if (!check.ok()) return done(check);
  if (request.uid().empty()) return done(Invalid("uid is required"));
  writes_.calls().Wait(RefOf(scope), groups_.FindOrMake(scope),
                       DeleteCall{.request = std::move(request), .done = std::move(done)});
}

// ---- facts ----

void CompatGroups::CloseSlot(uint32_t slot) {
  for (const std::string& scope : groups_.KeysOf(slot)) {
    writes_.calls().RefuseAll(*groups_.Find(scope),
                              MakeStatus(absl::StatusCode::kUnavailable, "the slot has moved to another replica"));
    writes_.Forget(scope);
    warnings_.Forget(scope);
  }
  groups_.Close(slot);
}

void CompatGroups::OnState(std::string_view scope, kube::v1::Object&& object) {
  if (object.has_pod_group()) {
    CompatGroup& group = groups_.FindOrMake(scope);
    group.owner.OnGroup(group.observed.get(), object.pod_group());
    group.observed = std::make_unique<kube::v1::PodGroup>(std::move(*object.mutable_pod_group()));
    group.lost.reset();
    group.is_gone = false;
    group.is_awaited = false;
  } else if (object.has_pod()) {
    CompatGroup& group = groups_.FindOrMake(scope);
    group.owner.OnPod(scope, group.pods, object.pod());
    group.have_pods_moved = false;
    const std::string uid = object.pod().uid();
    if (NeedsGroup(object.pod())) {
      group.links.due.insert(uid);
    } else {
      group.links.due.erase(uid);
    }
    group.pods.Set(kube::SplitKey(scope).name, std::move(*object.mutable_pod()));
  } else if (object.has_workload() && options_.follow_workloads) {
    CompatGroup& group = groups_.FindOrMake(scope);
    group.owner.OnWorkload(std::move(*object.mutable_workload()));
    // An earlier refusal, or an update that was undone, may not concern the new state of the owner.
    if (group.observed != nullptr) group.retry.Succeed();
    group.updates = Pace();
  }
}

void CompatGroups::OnGone(std::string_view scope, const runtime::Gone& gone) {
  CompatGroup* const group = groups_.Find(scope);
  if (group == nullptr) return;
  const bool is_observed = group->observed != nullptr && group->observed->meta().uid() == gone.uid;
  if (is_observed || (group->is_awaited && group->published_uid == gone.uid)) {
    group->lost = std::exchange(group->observed, nullptr);
    group->is_gone = true;
    group->is_awaited = false;
  }
  group->owner.OnGone(group->pods, gone.uid);
  const bool was_pod = group->pods.Find(gone.uid) != nullptr;
  group->pods.Erase(kube::SplitKey(scope).name, gone.uid);
  group->have_pods_moved |= was_pod && gone.reason == runtime::Gone::Reason::kLeft;
  if (group->pods.empty()) group->group_maker.clear();
  group->links.due.erase(gone.uid);
  group->pod_links.erase(gone.uid);
  group->pod_events.erase(gone.uid);
}

void CompatGroups::OnQueues(const std::set<std::string>& names) {
  for (const std::string& name : names) {
    for (const std::string& scope : warnings_.ScopesOn(name)) context_.Wake(scope);
  }
}

// ---- a pass ----

void CompatGroups::Act(std::string_view scope) {
  CompatGroup* const group = groups_.Find(scope);
  if (group == nullptr) return;
  const GroupRef ref = RefOf(scope);
  writes_.Serve(ref, *group);
  warnings_.ReportMissing(ref, *group);
  warnings_.CheckQueue(ref, *group);
  DropIfUnwanted(ref.scope);
}

}  // namespace basalt::pgsvc
