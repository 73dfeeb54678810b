// Claims that pods of a job mount: made for it, or found there, or waited for until somebody makes them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/kube/object_meta.h"
#include "common/kube/requests.h"
#include "services/jobsvc/control/job_controller.h"

namespace basalt::jobsvc {

using runtime::WriteOutcome;

namespace {

std::string ClaimSubject(std::string_view claim) { return fmt::format("claim {}", claim); }

Problem ProblemOf(const WantedClaim& claim, std::string_view what) {
  std::string subject = ClaimSubject(claim.name);
  std::string message = fmt::format("{}{}", subject, what);
  return {.words = {"PVCError", std::move(message)}, .subject = std::move(subject)};
}

Problem IsMissing(const WantedClaim& claim) { return ProblemOf(claim, " does not exist; the job waits for it"); }

bool StillNames(const JobEntry& entry, const WantedClaim& claim) {
  if (!entry.job || !entry.compiled || !MakesPods(entry.job->status().phase())) return false;
  return std::any_of(entry.compiled->claims.begin(), entry.compiled->claims.end(),
                     [&claim](const WantedClaim& named) { return named.name == claim.name; });
}

}  // namespace

void JobController::EnsureClaim(JobEntry& entry, const WantedClaim& claim) {
  if (entry.plugin_objects.awaited_claims.contains(claim.name)) {
    // It lasts: what is refused beside it does not take its place in the status.
    entry.problems.Report(IsMissing(claim), {}, context_.ApiNow(), options_.event_interval);
    return;
  }
  if (!entry.plugin_objects.busy.insert(fmt::format("{}/{}", kClaims, claim.name)).second) return;
  if (claim.json.empty()) return LookForClaim(entry, claim);
  auto request = kube::WriteOf(kube::kPersistentVolumeClaims, entry.ns, claim.name);
  request.mutable_create()->set_body(claim.json);
  context_.Write(entry.key, std::move(request),
                 [this, job_key = entry.key, uid = entry.record.uid(), claim](WriteOutcome outcome) {
                   JobEntry* live = Live(job_key, uid);
                   if (live == nullptr) return;
                   if (runtime::IsNameTaken(outcome)) return LookForClaim(*live, claim);
                   live->plugin_objects.busy.erase(fmt::format("{}/{}", kClaims, claim.name));
                   if (outcome.kind == WriteOutcome::Kind::kDone) {
                     ClaimIsThere(*live, claim.name);
                   } else {
                     ObjectRefused(*live, outcome, ProblemOf(claim, ": " + outcome.error.message()));
                   }
                   context_.Wake(job_key);
                 });
}

void JobController::LookForClaim(JobEntry& entry, const WantedClaim& claim) {
  auto request = kube::GetOf(kube::kPersistentVolumeClaims, entry.ns, claim.name);
  context_.Get(
      entry.key, std::move(request),
      [this, job_key = entry.key, uid = entry.record.uid(), claim](absl::StatusOr<gateway::v1::GetResponse> response) {
        JobEntry* live = Live(job_key, uid);
        if (live == nullptr) return;
        live->plugin_objects.busy.erase(fmt::format("{}/{}", kClaims, claim.name));
        const bool there = response.ok() && response->has_object();
        const bool missing = response.ok() && !there && response->error().code() == 404;
        if (there && (claim.json.empty() || kube::IsOwnedBy(response->object().generic().meta(), uid))) {
          ClaimIsThere(*live, claim.name);
        } else if (missing && claim.json.empty()) {
          AwaitClaim(*live, claim);
        } else {
          live->plugin_objects.retry.Fail(context_.ApiNow(), context_.random());
          if (there) {
            ReportProblem(*live, ProblemOf(claim, " exists and belongs to somebody else; it is left alone"));
          } else if (response.ok() && !missing && runtime::ShouldReportToUser(response->error())) {
            ReportProblem(*live, ProblemOf(claim, ": " + response->error().message()));
          }
        }
        context_.Wake(job_key);
      });
}

void JobController::ClaimIsThere(JobEntry& entry, const std::string& claim) {
  entry.plugin_objects.claims.insert(claim);
  ObjectIsThere(entry, "PVCError", ClaimSubject(claim));
}

// It is asked for until it comes: no more is heard of it before that.
void JobController::AwaitClaim(JobEntry& entry, const WantedClaim& claim) {
  if (!StillNames(entry, claim)) return;
  entry.plugin_objects.awaited_claims.insert(claim.name);
  claim_waits_.Add(entry.ns, claim.name, entry.key);
  entry.problems.End("PVCError", ClaimSubject(claim.name));  // That it could not be read is over.
  ReportProblem(entry, IsMissing(claim));
}

void JobController::StopAwaiting(JobEntry& entry) {
  for (const std::string& claim : std::exchange(entry.plugin_objects.awaited_claims, {})) {
    claim_waits_.Remove(entry.ns, claim, entry.key);
  }
}

void JobController::NoteClaim(const kube::v1::ObjectMeta& meta) {
  for (const std::string& key : claim_waits_.Take(meta.namespace_(), meta.name())) {
    JobEntry& entry = *Lookup(key);
    entry.plugin_objects.awaited_claims.erase(meta.name());
    ClaimIsThere(entry, meta.name());
    context_.Wake(key);
  }
}

}  // namespace basalt::jobsvc
