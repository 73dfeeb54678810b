#pragma once

// Helpers that the API's handlers share: they find a job, and make the errors of answers. They run on the loop of the
// job.
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/runtime/controller.h"
#include "common/runtime/write_status.h"
#include "services/jobsvc/control/job_controller.h"

namespace basalt::jobsvc {

// Returns "<namespace>/<name>". An empty namespace is "default".
std::string KeyOf(std::string_view ns, std::string_view name);

// Returns an error about that job. All errors here but NotReady carry ResourceInfo (common/rpc/error_details.h).
absl::Status OfJob(absl::StatusCode code, const std::string& key, std::string_view message);
absl::Status NotFound(const std::string& key);
// The present job of that name is not the one of `uid`.
absl::Status NotFound(const std::string& key, std::string_view uid, std::string_view present_uid);
// Returns the job of that name, which has that UID if one is given. UNAVAILABLE: the job's slot is not open here.
// NOT_FOUND: there is no such job.
absl::StatusOr<const JobEntry*> FindJob(JobController& controller, const std::string& key, std::string_view uid = {});
// The same, but UNAVAILABLE before the first pass over the job: until then the known pods may be those of the job
// before.
absl::StatusOr<const JobEntry*> FindReconciledJob(JobController& controller, const std::string& key,
                                                  std::string_view uid = {});
absl::Status NoTask(const std::string& key, std::string_view task);
absl::Status BeingDeleted(const std::string& key);
// UNAVAILABLE: the slot is not open here, or no pass has run over the job yet.
absl::Status NotReady(const std::string& key);

}  // namespace basalt::jobsvc
