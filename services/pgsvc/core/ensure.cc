#include "services/pgsvc/core/ensure.h"

#include <charconv>
#include <optional>

#include "common/kube/names.h"
#include "common/kube/resources/pod_group.h"

namespace basalt::pgsvc {
namespace {

std::optional<int32_t> VersionOf(const kube::v1::PodGroup& group) {
  for (const kube::v1::KeyValue& annotation : group.meta().annotations()) {
    if (annotation.key() != kube::kBasaltVersionKey) continue;
    int32_t version = 0;
    const std::string& text = annotation.value();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
    if (error == std::errc() && end == text.data() + text.size()) return version;
  }
  return std::nullopt;
}

bool IsOwnedBy(const kube::v1::PodGroup& group, std::string_view job_uid) {
  for (const kube::v1::OwnerReference& owner : group.meta().owner_references()) {
    if (owner.controller()) return owner.uid() == job_uid;
  }
  return false;
}

}  // namespace

EnsureStep NextEnsureStep(const podgroup::v1::EnsurePodGroupRequest& request, const kube::v1::PodGroup* observed) {
  if (observed == nullptr) return EnsureStep::kCreate;
  if (!IsOwnedBy(*observed, request.job_uid())) return EnsureStep::kForeign;
  if (observed->meta().deletion_ms() != 0) return EnsureStep::kWait;
  if (!request.kill_uid().empty() && observed->meta().uid() == request.kill_uid()) return EnsureStep::kReplace;
  // A group without our annotation is upstream's: it is adopted as current.
  const std::optional<int32_t> version = VersionOf(*observed);
  if (version && *version < request.version()) return EnsureStep::kReplace;
  return kube::PodGroupDiffers(observed->spec(), request.spec()) ? EnsureStep::kPatch : EnsureStep::kAnswer;
}

DeleteStep NextDeleteStep(const podgroup::v1::DeletePodGroupRequest& request, const kube::v1::PodGroup* observed,
                          bool was_read) {
  if (observed == nullptr || observed->meta().uid() != request.uid()) {
    return was_read ? DeleteStep::kGone : DeleteStep::kRead;
  }
  if (!IsOwnedBy(*observed, request.job_uid())) return DeleteStep::kForeign;
  return observed->meta().deletion_ms() != 0 ? DeleteStep::kGoing : DeleteStep::kDelete;
}

}  // namespace basalt::pgsvc
