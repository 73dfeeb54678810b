// Groups of plain pods: made, also again, for pods that lack one, and named by their pods.
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/kube/object_key.h"
#include "common/kube/requests.h"
#include "services/pgsvc/control/group_requests.h"
#include "services/pgsvc/control/pod_group_controller.h"
#include "services/pgsvc/core/empty_group.h"
#include "services/pgsvc/core/group_update.h"

namespace basalt::pgsvc {
namespace {

// The pods of an owner that goes are deleted with it or left behind by it. Until then the next group would be collected
// like the one before.
constexpr absl::Duration kOwnerEnds = absl::Seconds(5);

// What the owner of that UID says; one that may not be read says nothing. Nullopt: it is not known (weakness W8).
std::optional<OwnerFact> FactIn(const absl::StatusOr<gateway::v1::GetResponse>& answer, std::string_view owner_uid) {
  if (!answer.ok()) return std::nullopt;
  if (answer->error().code() == 403) return OwnerFact();
  if (answer->error().code() == 404) return OwnerFact{.is_going = true};
  if (!answer->has_object()) return std::nullopt;
  const kube::v1::ObjectMeta& meta = answer->object().generic().meta();
  if (meta.uid() != owner_uid) return OwnerFact{.is_going = true};
  OwnerFact fact{.is_going = meta.deletion_ms() != 0, .group_maker = MakerOfGroups(meta.owner_references())};
  for (const kube::v1::KeyValue& annotation : meta.annotations()) {
    fact.annotations.emplace(annotation.key(), annotation.value());
  }
  return fact;
}

bool IsGoing(const OwnerFacts& facts, std::string_view owner_uid) {
  const auto owner = facts.find(owner_uid);
  return owner != facts.end() && owner->second.is_going;
}

}  // namespace

void PodGroupController::ServePods(const std::string& key, Group& group) {
  if (group.retry.Blocks(context_.ApiNow())) {
    context_.WakeAt(key, group.retry.until());
    return;
  }
  if (group.busy || !MakerFor(group).empty()) return;
  if (group.observed == nullptr) {
    const kube::v1::Pod* const pod = group.pods.FirstLacking(kube::SplitKey(key).name);
    if (pod == nullptr || WaitsForItsOwner(key, group, *pod)) return;
    if (group.creates.Blocks(context_.ApiNow(), "")) return context_.WakeAt(key, group.creates.Until(""));
    return MakeGroup(key, group, *pod, {});
  }
  if (group.observed->meta().deletion_ms() != 0) return;
  for (const std::string& uid : group.pods.TakeToBind()) Bind(key, *group.pods.Find(uid));
}

std::string PodGroupController::MakerFor(const Group& group) {
  const kube::v1::Workload* const shown = group.owner.workload();
  return shown == nullptr ? group.group_maker : MakerOfGroups(shown->meta().owner_references());
}

bool PodGroupController::WaitsForItsOwner(const std::string& key, Group& group, const kube::v1::Pod& pod) const {
  const bool waits =
      !pod.owner_uid().empty() && pod.owner_uid() == group.going_owner && context_.ApiNow() < group.going_until;
  if (waits) context_.WakeAt(key, group.going_until);
  return waits;
}

// What the owner says counts for the one create that follows: it may have been put right before the next.
void PodGroupController::MakeGroup(const std::string& key, Group& group, const kube::v1::Pod& pod, OwnerFacts facts) {
  for (const OwnerResource& owner : AnnotatedOwners(pod)) {
    if (facts.contains(owner.uid)) continue;
    if (const kube::v1::Workload* const shown = group.owner.Find(owner.uid); shown != nullptr) {
      facts[owner.uid] = FactOf(*shown);
      continue;
    }
    // Whether the owner goes, and who makes its groups, counts in any case.
    if (!options_.inherit_owner_annotations && owner.uid != pod.owner_uid()) continue;
    return ReadOwner(
        key, group, pod.namespace_(), owner,
        [this, key, uid = pod.uid(), owner_uid = owner.uid, known = std::move(facts)](Group& waiting,
                                                                                      std::optional<OwnerFact> fact) {
          if (!fact) return TryLater(key, waiting);
          const kube::v1::Pod* const still = waiting.pods.Find(uid);
          if (waiting.observed != nullptr || still == nullptr || !LacksGroup(*still, kube::SplitKey(key).name)) {
            return context_.Wake(key);
          }
          OwnerFacts next = known;
          next[owner_uid] = *std::move(fact);
          MakeGroup(key, waiting, *still, std::move(next));
        });
  }
  if (const auto owner = facts.find(pod.owner_uid()); owner != facts.end()) {
    group.group_maker = owner->second.group_maker;
    if (!group.group_maker.empty()) return context_.Wake(key);
  }
  if (IsGoing(facts, pod.owner_uid()) && group.going_owner != pod.owner_uid()) {
    group.going_owner = pod.owner_uid();
    group.going_until = context_.ApiNow() + kOwnerEnds;
    return context_.WakeAt(key, group.going_until);
  }
  CreateForPod(key, group, pod, BodyFor(kube::SplitKey(key).name, group, pod, facts));
}

void PodGroupController::ReadOwner(const std::string& key, Group& group, std::string_view ns,
                                   const OwnerResource& owner, OnOwner then) {
  group.busy = true;
  context_.Get(
      key, kube::GetOf(owner.kind, ns, owner.name),
      [this, key, uid = owner.uid, then = std::move(then)](const absl::StatusOr<gateway::v1::GetResponse>& answer) {
        Group* const waiting = groups_.Find(key);
        if (waiting == nullptr) return;
        waiting->busy = false;
        then(*waiting, FactIn(answer, uid));
      });
}

absl::StatusOr<std::string> PodGroupController::BodyFor(std::string_view name, const Group& group,
                                                        const kube::v1::Pod& pod, const OwnerFacts& facts) const {
  const Annotations annotations = MergedAnnotations(pod, facts);
  if (name == GroupName(pod) && !IsGoing(facts, pod.owner_uid())) return GroupBody(pod, annotations, options_);
  if (group.lost != nullptr) return OwnerlessGroupBody(pod.namespace_(), name, AsItIs(*group.lost));
  const absl::StatusOr<WantedGroup> wanted = WantedGroupOf(pod, annotations, options_);
  if (!wanted.ok()) return wanted.status();
  return OwnerlessGroupBody(pod.namespace_(), name, *wanted);
}

void PodGroupController::CreateForPod(const std::string& key, Group& group, const kube::v1::Pod& pod,
                                      const absl::StatusOr<std::string>& body) {
  if (!body.ok()) {
    ReportOnPod(key, group, pod, ToStd(body.status().message()));
    Note(key, group, RefusalOf(CreationFor(pod), std::string(ToStd(body.status().message()))));
    TryLater(key, group);
    return;
  }
  group.busy = true;
  gateway::v1::WriteRequest request = GroupWrite(key);
  request.mutable_create()->set_body(*body);
  group.sent = CreationFor(pod);
  context_.Write(key, std::move(request), [this, key, uid = pod.uid()](runtime::WriteOutcome outcome) {
    Group* written = groups_.Find(key);
    if (written == nullptr) return;
    written->busy = false;
    using Kind = runtime::WriteOutcome::Kind;
    if (outcome.kind == Kind::kUnknown) return Refresh(key);
    GroupDecision sent = TakeSent(*written);
    if (outcome.kind == Kind::kDone) {
      sent.uid = outcome.object.pod_group().meta().uid();
      written->creates.Note(context_.ApiNow(), "");
      Note(key, *written, std::move(sent));
      Succeed(key, *written);
    } else if (runtime::IsNameTaken(outcome)) {
      Refresh(key);
    } else {
      if (runtime::ShouldReportToUser(outcome)) {
        written->refusal = outcome.error.message();
        Note(key, *written, RefusalOf(sent, outcome.error.message()));
      }
      const kube::v1::Pod* const still = written->pods.Find(uid);
      if (still != nullptr && outcome.kind == Kind::kRefused) {
        ReportOnPod(key, *written, *still, outcome.error.message());
      }
      TryLater(key, *written);
    }
  });
}

void PodGroupController::Bind(const std::string& key, const kube::v1::Pod& pod) {
  auto request = kube::WriteOf(kube::kPods, pod.namespace_(), pod.name());
  kube::SetMergePatch(BindingPatch(kube::SplitKey(key).name), pod.uid(), request);
  context_.Write(key, std::move(request), [this, key, uid = pod.uid()](runtime::WriteOutcome outcome) {
    Group* written = groups_.Find(key);
    if (written == nullptr) return;
    using Kind = runtime::WriteOutcome::Kind;
    // Another pod, or none: its next state decides.
    const bool is_another =
        outcome.kind == Kind::kRefused && (outcome.error.code() == 404 || outcome.error.code() == 409);
    written->pods.EndBinding(uid, is_another);
    if (outcome.kind == Kind::kDone) {
      // Another pod's patch may be refused beside it, and waits.
      if (!written->retry.Blocks(context_.ApiNow())) Succeed(key, *written);
    } else if (!is_another) {
      if (runtime::ShouldReportToUser(outcome)) written->refusal = outcome.error.message();
      TryLater(key, *written);
    }
  });
}

}  // namespace basalt::pgsvc
