#pragma once

// Decisions about pod groups, as reported to people. Pure.
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
    kRefused = 4,  // The API server refused the group, or certainly would.
    kForeign = 5,  // Another owner's group has the name, and is left alone.
  };
  Kind kind = Kind::kCreated;
  std::string uid = {};       // UID of the group; empty if there is no group.
  std::string asked_by = {};  // "job train", "pod web-1" or "ReplicaSet web".
  int32_t version = 0;        // The version of the job; 0 if it has none or requests no group.
  // Names of the fields of spec, or annotations or labels, that an update changed; sorted.
  std::vector<std::string> fields = {};
  std::string message = {};  // The reason, or the message of the refusal.
  friend bool operator==(const GroupDecision&, const GroupDecision&) = default;
};

// Returns the UID of the controller among the group's owners; empty if no owner is a controller.
std::string_view ControllerOf(const kube::v1::PodGroup& group);

// Whether `next` adds nothing to `last`: an impossible step is tried again and again, and recorded once.
bool IsRepeated(const GroupDecision& last, const GroupDecision& next);

// The decisions to write what a step requires, from the request or object that causes it; without the outcome.
GroupDecision CreationFor(const podgroup::v1::EnsurePodGroupRequest& request);
GroupDecision UpdateFor(const podgroup::v1::EnsurePodGroupRequest& request, const kube::v1::PodGroup& observed);
GroupDecision ReplacementFor(const podgroup::v1::EnsurePodGroupRequest& request, const kube::v1::PodGroup& observed);
GroupDecision ForeignFor(const podgroup::v1::EnsurePodGroupRequest& request, const kube::v1::PodGroup& observed);
GroupDecision DeletionFor(const podgroup::v1::DeletePodGroupRequest& request);
GroupDecision CreationFor(const kube::v1::Pod& pod);
// The decisions about the group of UID `uid`, from the present state of the owner of its pods.
GroupDecision UpdateFor(const kube::v1::Workload& owner, std::string uid, std::vector<std::string> fields);
GroupDecision DeletionFor(const kube::v1::Workload& owner, std::string uid);

// The decision `sent` was refused with this message.
GroupDecision RefusalOf(const GroupDecision& sent, std::string message);

// Whether the group, read after a write of `sent` whose outcome is unknown, shows that the write was done. `observed`
// is null if there is no group. `request` is null if no job requested the group.
bool IsCarriedOut(const GroupDecision& sent, const kube::v1::PodGroup* observed,
                  const podgroup::v1::EnsurePodGroupRequest* request);

}  // namespace basalt::pgsvc
