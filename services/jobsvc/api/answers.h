#pragma once

// What the API's handlers have in common: how they find a job, and the words of their answers. On the loop of the job.
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/runtime/controller.h"
#include "common/runtime/write_status.h"
#include "services/jobsvc/control/job_controller.h"

namespace basalt::jobsvc {

// "<namespace>/<name>"; an empty namespace is "default".
std::string KeyOf(std::string_view ns, std::string_view name);

// An error about that job: it carries ResourceInfo (common/rpc/error_details.h), as all of these do.
absl::Status OfJob(absl::StatusCode code, const std::string& key, std::string_view message);
absl::Status NotFound(const std::string& key);
// The name has another job by now, or had it before.
absl::Status NotFound(const std::string& key, std::string_view uid, std::string_view present_uid);
// The job of that name, and of that UID where one is given. UNAVAILABLE: its slot is not open here. NOT_FOUND.
absl::StatusOr<const JobEntry*> FindJob(JobController& controller, const std::string& key, std::string_view uid = {});
// The same, once a pass has looked at it: what is known of its pods is not of the job before.
absl::StatusOr<const JobEntry*> FindReconciledJob(JobController& controller, const std::string& key,
                                                  std::string_view uid = {});
absl::Status NoTask(const std::string& key, std::string_view task);
absl::Status BeingDeleted(const std::string& key);
// The slot is not open here.
absl::Status NotReady(const std::string& key);

}  // namespace basalt::jobsvc
