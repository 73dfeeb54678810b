#include "services/jobsvc/api/answers.h"

#include <fmt/format.h>

#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/kube/kinds.h"
#include "common/kube/object_key.h"
#include "common/rpc/error_details.h"

namespace basalt::jobsvc {

std::string KeyOf(std::string_view ns, std::string_view name) {
  return kube::ObjectKey(ns.empty() ? std::string_view("default") : ns, name);
}

absl::Status OfJob(absl::StatusCode code, const std::string& key, std::string_view message) {
  return rpc::WithResource(MakeStatus(code, message), kube::kJobs, key);
}

absl::Status NotFound(const std::string& key) {
  return OfJob(absl::StatusCode::kNotFound, key, fmt::format("job {} does not exist", key));
}

absl::Status NotFound(const std::string& key, std::string_view uid, std::string_view present_uid) {
  return OfJob(absl::StatusCode::kNotFound, key,
               fmt::format("job {} with UID {} does not exist; the present one has UID {}", key, uid, present_uid));
}

absl::StatusOr<const JobEntry*> FindJob(JobController& controller, const std::string& key, std::string_view uid) {
  if (!controller.context().IsReady(SlotOf(key))) return NotReady(key);
  const JobEntry* entry = controller.Find(key);
  if (entry == nullptr || !entry->job) return NotFound(key);
  const std::string& present = entry->job->meta().uid();
  if (!uid.empty() && present != uid) return NotFound(key, uid, present);
  return entry;
}

absl::StatusOr<const JobEntry*> FindReconciledJob(JobController& controller, const std::string& key,
                                                  std::string_view uid) {
  absl::StatusOr<const JobEntry*> entry = FindJob(controller, key, uid);
  if (entry.ok() && (!(*entry)->compiled || !(*entry)->has_uid((*entry)->job->meta().uid()))) return NotReady(key);
  return entry;
}

absl::Status NoTask(const std::string& key, std::string_view task) {
  return OfJob(absl::StatusCode::kNotFound, key, fmt::format("job {} has no task {}", key, task));
}

absl::Status BeingDeleted(const std::string& key) {
  return OfJob(absl::StatusCode::kFailedPrecondition, key, fmt::format("job {} is being deleted", key));
}

absl::Status NotReady(const std::string& key) {
  return MakeStatus(absl::StatusCode::kUnavailable,
                    fmt::format("job {}: this replica does not have its slot, or is still starting; try again", key));
}

}  // namespace basalt::jobsvc
