#pragma once

// The part of a group that follows the owner of its pods: a ReplicaSet, StatefulSet, DaemonSet or batch Job that a
// watch shows. Its annotations and its newest pod say how the group is to be, and the group goes once the owner is
// scaled to zero and no pod runs (podgroup spec 4.2 to 4.4, 6; weaknesses W16 to W18). Lost with the process on
// purpose: the group is compared anew. On the controller's loop.
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
    std::string patch = {};       // Of kUpdate.
    GroupDecision decision = {};  // Of kUpdate and kDelete.
    std::string warning = {};     // To be reported on `pod`, once; empty: there is none, or it was.
    const kube::v1::Pod* pod = nullptr;
  };

  void OnWorkload(kube::v1::Workload&& workload);
  // `pods` has it still, where it is a pod.
  void OnGone(const GroupPods& pods, std::string_view uid);
  // A state of a pod of the group of that key; `pods` has the one before it still.
  void OnPod(std::string_view key, const GroupPods& pods, const kube::v1::Pod& next);
  // A state of the group. `before`: null where it was not there.
  void OnGroup(const kube::v1::PodGroup* before, const kube::v1::PodGroup& next);

  bool is_shown() const { return workload_ != nullptr; }
  // Null: no watch shows the owner.
  const kube::v1::Workload* workload() const { return workload_.get(); }
  // The pod that says how the group is to be: the newest, and of a StatefulSet the newest of the revision that is
  // rolled out. Null: there is none.
  const kube::v1::Pod* Speaker(const GroupPods& pods) const { return pods.Newest(revision()); }
  // Null: no watch shows the owner of that UID.
  const kube::v1::Workload* Find(std::string_view uid) const;

  // What is known of the owners of the pod that speaks.
  OwnerFacts facts() const;
  // An owner beside the one that is shown, whose annotations count and are to be read before NextStep; nullopt: none is
  // left. Requires IsDue.
  std::optional<OwnerResource> NextToRead(const GroupPods& pods);
  void OnRead(const std::string& uid, OwnerFact fact);

  // Whether NextStep may find something to do.
  bool IsDue(const kube::v1::PodGroup& group) const;
  // The next step for the group. The step counts as done until CompareAgain. Requires IsDue.
  Step NextStep(const kube::v1::PodGroup& group, const GroupPods& pods, const GroupingOptions& options);
  // The group is as its owner and its newest pod say.
  bool IsFollowed(const kube::v1::PodGroup& group, const GroupPods& pods, const GroupingOptions& options) const;

  // The last step was not carried out.
  void CompareAgain() { is_compared_ = false; }

 private:
  const std::string& revision() const;

  std::unique_ptr<kube::v1::Workload> workload_;  // Null: none is shown.
  bool is_compared_ = false;                      // The group is as the workload and the newest pod say.
  OwnerFacts others_;                             // Owners that are not shown, as they were read last.
  bool are_others_new_ = false;                   // They were read since the last comparison.
  std::string warning_;                           // That was reported last.
};

}  // namespace basalt::pgsvc
