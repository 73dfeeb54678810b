#include "services/pgsvc/control/compat/followed_owner.h"

#include <optional>
#include <utility>
#include <vector>

#include "common/base/status.h"

namespace basalt::pgsvc {
namespace {

// Leaves out the status, which the scheduler writes in every cycle.
std::string AllButStatus(const kube::v1::PodGroup& group) {
  kube::v1::PodGroup relevant;
  *relevant.mutable_spec() = group.spec();
  *relevant.mutable_meta()->mutable_annotations() = group.meta().annotations();
  *relevant.mutable_meta()->mutable_labels() = group.meta().labels();
  return relevant.SerializeAsString();
}

}  // namespace

void FollowedOwner::OnWorkload(kube::v1::Workload&& workload) {
  workload_ = std::make_unique<kube::v1::Workload>(std::move(workload));
  is_compared_ = false;
}

const std::string& FollowedOwner::revision() const {
  static const std::string kNone;
  return workload_ == nullptr ? kNone : workload_->update_revision();
}

// If the pod that determined the group has gone, another pod determines it now.
void FollowedOwner::OnGone(const GroupPods& pods, std::string_view uid) {
  const kube::v1::Pod* const speaker = Speaker(pods);
  if (speaker != nullptr && speaker->uid() == uid) is_compared_ = false;
  if (Find(uid) != nullptr) workload_.reset();
}

const kube::v1::Workload* FollowedOwner::Find(std::string_view uid) const {
  return workload_ != nullptr && workload_->meta().uid() == uid ? workload_.get() : nullptr;
}

void FollowedOwner::OnPod(std::string_view key, const GroupPods& pods, const kube::v1::Pod& next) {
  const kube::v1::Pod* const speaker = Speaker(pods);
  const bool speaks = speaker != nullptr && speaker->uid() == next.uid();
  if (!SaysHowTheGroupIs(key, next) || (speaks && RevisionOf(*speaker) != RevisionOf(next))) {
    if (speaks) is_compared_ = false;
    return;
  }
  if (speaker != nullptr && !speaks && !SpeaksBefore(next, *speaker, revision())) return;
  if (speaker == nullptr || !AskForTheSame(*speaker, next)) is_compared_ = false;
}

void FollowedOwner::OnGroup(const kube::v1::PodGroup* before, const kube::v1::PodGroup& next) {
  if (!is_shown() || !is_compared_) return;
  is_compared_ = before != nullptr && AllButStatus(*before) == AllButStatus(next);
}

OwnerFacts FollowedOwner::facts() const {
  OwnerFacts facts = others_;
  if (workload_ != nullptr) facts[workload_->meta().uid()] = FactOf(*workload_);
  return facts;
}

std::optional<OwnerResource> FollowedOwner::NextToRead(const GroupPods& pods) {
  const kube::v1::Pod* const pod = Speaker(pods);
  if (pod == nullptr || WantsNoPods(*workload_)) return std::nullopt;
  if (!std::exchange(are_others_new_, true)) others_.clear();
  for (OwnerResource& owner : AnnotatedOwners(*pod)) {
    if (Find(owner.uid) == nullptr && !others_.contains(owner.uid)) return std::move(owner);
  }
  return std::nullopt;
}

void FollowedOwner::OnRead(const std::string& uid, OwnerFact fact) { others_[uid] = std::move(fact); }

bool FollowedOwner::IsDue(const kube::v1::PodGroup& group) const {
  if (!is_shown() || !IsGroupOf(group, *workload_)) return false;
  // Kubernetes collects the group of an owner that is being deleted.
  if (workload_->meta().deletion_ms() != 0 || group.meta().deletion_ms() != 0) return false;
  return WantsNoPods(*workload_) || !is_compared_;
}

FollowedOwner::Step FollowedOwner::NextStep(const kube::v1::PodGroup& group, const GroupPods& pods,
                                            const GroupingOptions& options) {
  const std::string& uid = group.meta().uid();
  if (WantsNoPods(*workload_)) {
    // The scheduler accounts for the pods by their group for as long as one of them runs (weakness W18).
    if (pods.has_unfinished()) return {};
    return {.kind = Step::Kind::kDelete, .decision = DeletionFor(*workload_, uid)};
  }
  is_compared_ = true;
  Step step;
  step.pod = Speaker(pods);
  are_others_new_ = false;
  if (step.pod == nullptr) return {};  // The next pod causes a comparison.
  const absl::StatusOr<WantedGroup> wanted = WantedGroupOf(*step.pod, MergedAnnotations(*step.pod, facts()), options);
  std::string warning =
      wanted.ok() ? WhyNeverPlaced(*wanted, *workload_) : std::string(ToStd(wanted.status().message()));
  if (warning != warning_) {
    warning_ = std::move(warning);
    step.warning = warning_;
  }
  if (!wanted.ok()) return step;
  if (std::optional<GroupUpdate> update = UpdateOf(group, *wanted)) {
    step.kind = Step::Kind::kUpdate;
    step.patch = std::move(update->patch);
    step.decision = UpdateFor(*workload_, uid, std::move(update->fields));
  }
  return step;
}

bool FollowedOwner::IsFollowed(const kube::v1::PodGroup& group, const GroupPods& pods,
                               const GroupingOptions& options) const {
  const kube::v1::Pod* const pod = Speaker(pods);
  if (pod == nullptr || !is_shown()) return false;
  const absl::StatusOr<WantedGroup> wanted = WantedGroupOf(*pod, MergedAnnotations(*pod, facts()), options);
  return wanted.ok() && !UpdateOf(group, *wanted);
}

}  // namespace basalt::pgsvc
