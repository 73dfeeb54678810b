#include "services/jobsvc/core/spec/check_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "services/jobsvc/core/render/effective_spec.h"
#include "services/jobsvc/core/spec/compiled_job.h"
#include "services/jobsvc/core/validate/validate.h"

namespace basalt::jobsvc {

namespace {

// Returns whether upstream named the claim, by writing the name into the spec beside the claim (job spec 9.9).
bool IsNamedByUpstream(std::string_view claim, std::string_view job) {
  constexpr std::string_view kInfix = "-pvc-";
  constexpr size_t kRandom = 12;
  return claim.size() == job.size() + kInfix.size() + kRandom && claim.starts_with(job) &&
         claim.substr(job.size()).starts_with(kInfix) && std::all_of(claim.end() - kRandom, claim.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
         });
}

// Checks the spec as the user wrote it: a claim that upstream has named since is not refused for having a name and a
// template.
Validation Validate(const kube::v1::Job& job, const kube::v1::JobSpec& spec) {
  const std::string& name = job.meta().name();
  const auto was_named = [&](const kube::v1::VolumeSpec& volume) {
    return !volume.volume_claim_json().empty() && IsNamedByUpstream(volume.volume_claim_name(), name);
  };
  if (std::none_of(spec.volumes().begin(), spec.volumes().end(), was_named)) {
    return ValidateJob(spec, name, job.meta().namespace_());
  }
  kube::v1::JobSpec written = spec;
  for (kube::v1::VolumeSpec& volume : *written.mutable_volumes()) {
    if (was_named(volume)) volume.clear_volume_claim_json();
  }
  return ValidateJob(written, name, job.meta().namespace_());
}

// Returns whether the job has been past Pending. A refused job gets there only with pods from before.
bool HasRun(const kube::v1::JobStatus& status) {
  return std::any_of(status.conditions().begin(), status.conditions().end(), [](const auto& condition) {
    return condition.phase() != kube::v1::JOB_PHASE_PENDING && condition.phase() != kube::v1::JOB_PHASE_UNSPECIFIED;
  });
}

// Returns the first violation and the number of the others.
StatusMessage Summary(std::string reason, const std::vector<Violation>& found) {
  if (found.empty()) return {};
  const std::string& first = found.front().message;
  if (found.size() == 1) return {std::move(reason), first};
  return {std::move(reason), fmt::format("{} (and {} more)", first, found.size() - 1)};
}

}  // namespace

bool WasNeverAccepted(const kube::v1::JobStatus& status) { return status.reason() == kInvalidJob && !HasRun(status); }

SpecCheck CheckSpec(const kube::v1::Job& job, const kube::v1::JobSpec& spec) {
  if (!job.decode_error().empty()) return {{std::string(kInvalidJob), job.decode_error()}, {}};
  // The queue is not checked: whether it is open is the scheduler's business once the job is stored (W13).
  Validation validation = Validate(job, spec);
  // The rules that are ours alone apply only before a job runs: a job that upstream has started goes on.
  if (HasRun(job.status())) {
    std::erase_if(validation.violations, [](const Violation& violation) { return violation.rule.starts_with('X'); });
  }
  return {Summary(std::string(kInvalidJob), validation.violations),
          Summary(std::string(kSpecWarning), validation.warnings)};
}

}  // namespace basalt::jobsvc
