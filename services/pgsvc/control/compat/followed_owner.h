#pragma once

// Makes a group follow the owner of its pods: a ReplicaSet, StatefulSet, DaemonSet or batch Job that a watch shows. The
// owner's annotations and its newest pod determine the group. The group is deleted once the owner is suspended or
// scaled to zero and no pod runs (podgroup spec 4.2 to 4.4, 6; weaknesses W16 to W18). This state is lost with the
// process on purpose: the next process compares the group anew. Confined to the controller's loop.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "services/pgsvc/control/compat/group_pods.h"
#include "services/pgsvc/core/group_decision.h"
#include "services/pgsvc/core/group_update.h"

namespace basalt::pgsvc {

class FollowedOwner {
 public:
  struct Step {
    enum class Kind : uint8_t { kNothing, kUpdate, kDelete } kind = Kind::kNothing;
    std::string patch = {};       // Set for kUpdate.
    GroupDecision decision = {};  // Set for kUpdate and kDelete.
    // A warning to report on `pod`; empty if there is none, or if it was reported before.
    std::string warning = {};
    const kube::v1::Pod* pod = nullptr;  // Not null if there is a warning.
  };

  void OnWorkload(kube::v1::Workload&& workload);
  // The owner or the pod of that UID is gone. `pods` still has such a pod.
  void OnGone(const GroupPods& pods, std::string_view uid);
  // A pod of the group of that key gets the state `next`. `pods` still has the state before.
  void OnPod(std::string_view key, const GroupPods& pods, const kube::v1::Pod& next);
  // The group gets the state `next`. `before` is null if there was no group.
  void OnGroup(const kube::v1::PodGroup* before, const kube::v1::PodGroup& next);

  // Whether a watch shows the owner.
  bool is_shown() const { return workload_ != nullptr; }
  // Returns null if no watch shows the owner.
  const kube::v1::Workload* workload() const { return workload_.get(); }
  // Returns the pod that determines the group: the newest one; for a StatefulSet the newest one of the revision that is
  // rolled out, if there is one. Null if no pod may determine the group.
  const kube::v1::Pod* Speaker(const GroupPods& pods) const { return pods.Newest(revision()); }
  // Returns the owner of that UID; null if no watch shows it.
  const kube::v1::Workload* Find(std::string_view uid) const;

  // Returns the known facts about the owners of the pod that Speaker() returns.
  OwnerFacts facts() const;
  // Returns an owner that no watch shows and whose annotations count, to be read before NextStep(). Nullopt if none is
  // left. Requires IsDue().
  std::optional<OwnerResource> NextToRead(const GroupPods& pods);
  // The owner of that UID was read.
  void OnRead(const std::string& uid, OwnerFact fact);

  // Whether NextStep() may find something to do.
  bool IsDue(const kube::v1::PodGroup& group) const;
  // Returns the next step for the group. The step counts as done until CompareAgain(). Requires IsDue().
  Step NextStep(const kube::v1::PodGroup& group, const GroupPods& pods, const GroupingOptions& options);
  // Whether the group is as its owner and the pod that Speaker() returns require.
  bool IsFollowed(const kube::v1::PodGroup& group, const GroupPods& pods, const GroupingOptions& options) const;

  // The last step was not carried out.
  void CompareAgain() { is_compared_ = false; }

 private:
  const std::string& revision() const;

  std::unique_ptr<kube::v1::Workload> workload_;  // Null if no watch shows the owner.
  // Whether the group was compared since the group, the workload or the pod that determines the group last changed.
  bool is_compared_ = false;
  OwnerFacts others_;            // The owners that no watch shows, as they were read last.
  bool are_others_new_ = false;  // Whether these were read since the last comparison.
  std::string warning_;          // The warning that was reported last.
};

}  // namespace basalt::pgsvc
