#include "services/pgsvc/core/group_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/json.h"
#include "common/kube/resources/pod_group.h"

namespace basalt::pgsvc {
namespace {

using Kind = GroupDecision::Kind;
using podgroup::v1::EnsurePodGroupRequest;

GroupDecision ForJob(Kind kind, const EnsurePodGroupRequest& request, std::string uid) {
  return {.kind = kind,
          .uid = std::move(uid),
          .asked_by = fmt::format("job {}", request.job_name()),
          .version = request.version()};
}

}  // namespace

std::string_view ControllerOf(const kube::v1::PodGroup& group) {
  for (const kube::v1::OwnerReference& owner : group.meta().owner_references()) {
    if (owner.controller()) return owner.uid();
  }
  return {};
}

bool IsRepeated(const GroupDecision& last, const GroupDecision& next) {
  return (next.kind == Kind::kRefused || next.kind == Kind::kForeign) && last == next;
}

GroupDecision CreationFor(const EnsurePodGroupRequest& request) { return ForJob(Kind::kCreated, request, ""); }

GroupDecision UpdateFor(const EnsurePodGroupRequest& request, const kube::v1::PodGroup& observed) {
  GroupDecision decision = ForJob(Kind::kUpdated, request, observed.meta().uid());
  const auto patch = ParseJson(kube::PodGroupPatch(observed.spec(), request.spec()));
  if (!patch.ok()) return decision;
  const json::value* spec = FindPath(*patch, {"spec"});
  if (spec == nullptr || !spec->is_object()) return decision;
  for (const auto& member : spec->get_object()) decision.fields.emplace_back(member.key().data(), member.key().size());
  std::sort(decision.fields.begin(), decision.fields.end());
  return decision;
}

GroupDecision ReplacementFor(const EnsurePodGroupRequest& request, const kube::v1::PodGroup& observed) {
  GroupDecision decision = ForJob(Kind::kDeleted, request, observed.meta().uid());
  decision.message = request.kill_uid() == observed.meta().uid()
                         ? "the job's pods are being killed, and their group with them"
                         : fmt::format("it is of an older version: the job is at version {}", request.version());
  return decision;
}

GroupDecision ForeignFor(const EnsurePodGroupRequest& request, const kube::v1::PodGroup& observed) {
  GroupDecision decision = ForJob(Kind::kForeign, request, observed.meta().uid());
  const std::string_view owner = ControllerOf(observed);
  decision.message =
      owner.empty() ? "it has no owner" : fmt::format("its owner has UID {}, the job {}", owner, request.job_uid());
  return decision;
}

GroupDecision DeletionFor(const podgroup::v1::DeletePodGroupRequest& request) {
  return {.kind = Kind::kDeleted,
          .uid = request.uid(),
          .asked_by = fmt::format("job of UID {}", request.job_uid()),
          .message = "its job wants none any more"};
}

GroupDecision CreationFor(const kube::v1::Pod& pod) {
  return {.kind = Kind::kCreated, .asked_by = fmt::format("pod {}", pod.name())};
}

GroupDecision UpdateFor(const kube::v1::Workload& owner, std::string uid, std::vector<std::string> fields) {
  return {.kind = Kind::kUpdated,
          .uid = std::move(uid),
          .asked_by = fmt::format("{} {}", owner.kind(), owner.meta().name()),
          .fields = std::move(fields)};
}

GroupDecision DeletionFor(const kube::v1::Workload& owner, std::string uid) {
  return {
      .kind = Kind::kDeleted,
      .uid = std::move(uid),
      .asked_by = fmt::format("{} {}", owner.kind(), owner.meta().name()),
      .message = fmt::format("it is {}, and its pods are over", owner.suspended() ? "suspended" : "scaled to zero")};
}

GroupDecision RefusalOf(const GroupDecision& sent, std::string message) {
  GroupDecision refusal = sent;
  refusal.kind = Kind::kRefused;
  refusal.message = std::move(message);
  return refusal;
}

bool IsCarriedOut(const GroupDecision& sent, const kube::v1::PodGroup* observed, const EnsurePodGroupRequest* request) {
  switch (sent.kind) {
    case Kind::kCreated:
      return observed != nullptr && (request == nullptr || ControllerOf(*observed) == request->job_uid());
    case Kind::kUpdated:
      return observed != nullptr && observed->meta().uid() == sent.uid && request != nullptr &&
             !kube::PodGroupDiffers(observed->spec(), request->spec());
    case Kind::kDeleted:
      return observed == nullptr || observed->meta().uid() != sent.uid || observed->meta().deletion_ms() != 0;
    case Kind::kRefused:
    case Kind::kForeign:
      return false;
  }
  return false;
}

}  // namespace basalt::pgsvc
