#pragma once

// What was decided about a pod group, as people are told of it. Pure.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/podgroup/v1/podgroup.pb.h"

namespace basalt::pgsvc {

struct GroupDecision {
  // The numbers are stored.
  enum class Kind {
    kCreated = 1,
    kUpdated = 2,
    kDeleted = 3,
    kRefused = 4,  // The API server refused the group, or it can be seen that it would.
    kForeign = 5,  // The name is held by the group of another owner, which is left alone.
  };
  Kind kind = Kind::kCreated;
  std::string uid = {};                  // Of the group; empty: there is none.
  std::string asked_by = {};             // "job train", "pod web-1" or "ReplicaSet web".
  int32_t version = 0;                   // Of the job; 0: it does not say one, or asks for no group.
  std::vector<std::string> fields = {};  // Of spec, or annotations or labels, that an update changed; sorted.
  std::string message = {};              // Why, or the words of the refusal.
  friend bool operator==(const GroupDecision&, const GroupDecision&) = default;
};

// UID of the controller among the group's owners; empty: none is.
std::string_view ControllerOf(const kube::v1::PodGroup& group);

// Whether `next` says nothing new after `last`: what cannot be done is tried again and again, and told once.
bool IsRepeated(const GroupDecision& last, const GroupDecision& next);

// The decision to write what the step says, by what it is asked for with; without the outcome.
GroupDecision CreationFor(const podgroup::v1::EnsurePodGroupRequest& request);
GroupDecision UpdateFor(const podgroup::v1::EnsurePodGroupRequest& request, const kube::v1::PodGroup& observed);
GroupDecision ReplacementFor(const podgroup::v1::EnsurePodGroupRequest& request, const kube::v1::PodGroup& observed);
GroupDecision ForeignFor(const podgroup::v1::EnsurePodGroupRequest& request, const kube::v1::PodGroup& observed);
GroupDecision DeletionFor(const podgroup::v1::DeletePodGroupRequest& request);
GroupDecision CreationFor(const kube::v1::Pod& pod);
// Of the group of UID `uid`, by what the owner of its pods is now.
GroupDecision UpdateFor(const kube::v1::Workload& owner, std::string uid, std::vector<std::string> fields);
GroupDecision DeletionFor(const kube::v1::Workload& owner, std::string uid);

// What was sent was refused, in these words.
GroupDecision RefusalOf(const GroupDecision& sent, std::string message);

// Where nobody knows what became of a write of that decision: whether the group, as it was read since, shows it.
// `observed` is null where there is none; `request` where no job asked for it.
bool IsCarriedOut(const GroupDecision& sent, const kube::v1::PodGroup* observed,
                  const podgroup::v1::EnsurePodGroupRequest* request);

}  // namespace basalt::pgsvc
