#include "services/jobsvc/core/check_spec.h"

#include <fmt/format.h>

#include <string>

#include "services/jobsvc/core/compiled_job.h"
#include "services/jobsvc/core/render/effective_spec.h"
#include "services/jobsvc/core/render/validate.h"

namespace basalt::jobsvc {

namespace {

template <typename Policies>
std::string FirstTimeout(const Policies& policies, const std::string& where) {
  for (int i = 0; i < policies.size(); ++i) {
    if (policies.Get(i).has_timeout_ms() && policies.Get(i).timeout_ms() > 0) {
      return fmt::format("{}.policies[{}].timeout", where, i);
    }
  }
  return {};
}

}  // namespace

Words CheckSpec(const kube::v1::Job& job, const kube::v1::JobSpec& spec) {
  if (!job.decode_error().empty()) return {"InvalidJob", job.decode_error()};
  if (const int64_t total = SumOfReplicas(spec); total > kMaxPodsPerJob) {
    return {"InvalidJob",
            fmt::format("spec.tasks: {} pods in one job; at most {} are carried out", total, kMaxPodsPerJob)};
  }
  // The queue is not asked: whether it is open is the scheduler's business once the job is stored (W13).
  const Validation validation = ValidateJob(spec, job.meta().name(), job.meta().namespace_());
  if (!validation.ok()) {
    const Violation& first = validation.violations.front();
    const size_t more = validation.violations.size() - 1;
    return {"InvalidJob", more == 0 ? first.message : fmt::format("{} (and {} more)", first.message, more)};
  }
  return {};
}

Words UnsupportedFields(const kube::v1::JobSpec& spec) {
  std::string field = FirstTimeout(spec.policies(), "spec");
  for (int i = 0; i < spec.tasks_size() && field.empty(); ++i) {
    field = FirstTimeout(spec.tasks(i).policies(), fmt::format("spec.tasks[{}]", i));
  }
  if (!field.empty()) {
    return {"UnsupportedField",
            fmt::format("{}: delayed actions are not carried out by this version; the policy is ignored", field)};
  }
  return {};
}

}  // namespace basalt::jobsvc
