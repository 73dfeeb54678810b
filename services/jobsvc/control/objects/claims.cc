#include "services/jobsvc/control/objects/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/kube/object_meta.h"
#include "common/kube/requests.h"
#include "common/reconcile/effect.h"
#include "services/jobsvc/control/part_host.h"
#include "services/jobsvc/core/render/volumes.h"

namespace basalt::jobsvc {

using runtime::WriteOutcome;

namespace {

// Other claims may still be refused, so the back-off goes on.
constexpr EffectPolicy kClaimCreate{.done = Meaning::kHeld, .already_exists = Meaning::kLook};

std::string EffectOf(std::string_view claim) { return fmt::format("{}/{}", kClaims, claim); }

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

void Claims::Load(const JobEntry& entry) {
  for (const auto& resource : entry.job->status().controlled_resources()) {
    if (resource.key() == ClaimMarkerKey(resource.value())) known_.insert(resource.value());
  }
}

bool Claims::HasAll(const JobEntry& entry) const {
  return std::all_of(entry.compiled->claims.begin(), entry.compiled->claims.end(),
                     [this](const WantedClaim& claim) { return known_.contains(claim.name); });
}

void Claims::Apply(JobEntry& entry, PartHost& host) {
  for (const WantedClaim& claim : entry.compiled->claims) {
    if (!known_.contains(claim.name)) Ensure(entry, claim, host);
  }
}

void Claims::Ensure(JobEntry& entry, const WantedClaim& claim, PartHost& host) {
  if (awaited_.contains(claim.name)) {
    // The problem lasts. It is reported again, so that no other refusal takes its place in the status.
    entry.problems.Report(IsMissing(claim), {}, host.Now(), host.options().event_interval);
    return;
  }
  if (!entry.plugin_objects.effects().Begin(EffectOf(claim.name))) return;
  if (claim.json.empty()) return Look(entry, claim, host);
  auto request = kube::WriteOf(kube::kPersistentVolumeClaims, entry.ns, claim.name);
  request.mutable_create()->set_body(claim.json);
  host.Write(entry, std::move(request), [&host, claim](JobEntry& live, const WriteOutcome& outcome) {
    live.claims.Created(live, claim, outcome, host);
  });
}

void Claims::Created(JobEntry& entry, const WantedClaim& claim, const WriteOutcome& outcome, PartHost& host) {
  const Meaning meaning = entry.plugin_objects.effects().End(EffectOf(claim.name), AnswerOf(outcome), kClaimCreate,
                                                             host.Now(), host.context().random());
  if (meaning == Meaning::kLook) return Look(entry, claim, host);
  if (meaning == Meaning::kHeld) {
    IsThere(entry, claim.name);
  } else {
    entry.plugin_objects.ReportRefusal(entry, outcome, ProblemOf(claim, ": " + outcome.error.message()), host);
  }
  host.Wake(entry);
}

void Claims::Look(JobEntry& entry, const WantedClaim& claim, PartHost& host) {
  host.Get(entry, kube::GetOf(kube::kPersistentVolumeClaims, entry.ns, claim.name),
           [&host, claim](JobEntry& live, const absl::StatusOr<gateway::v1::GetResponse>& response) {
             live.claims.Found(live, claim, response, host);
           });
}

void Claims::Found(JobEntry& entry, const WantedClaim& claim, const absl::StatusOr<gateway::v1::GetResponse>& response,
                   PartHost& host) {
  EffectSet& effects = entry.plugin_objects.effects();
  effects.Forget(EffectOf(claim.name));
  const bool there = response.ok() && response->has_object();
  const bool missing = AnswerOfRead(response) == Answer::kNotFound;
  if (there && (claim.json.empty() || kube::IsOwnedBy(response->object().generic().meta(), entry.record.uid()))) {
    IsThere(entry, claim.name);
  } else if (missing && claim.json.empty()) {
    Await(entry, claim, host);
  } else {
    effects.retry().Fail(host.Now(), host.context().random());
    if (there) {
      host.ReportProblem(entry, ProblemOf(claim, " exists and belongs to somebody else; it is left alone"));
    } else if (response.ok() && !missing && runtime::ShouldReportToUser(response->error())) {
      host.ReportProblem(entry, ProblemOf(claim, ": " + response->error().message()));
    }
  }
  host.Wake(entry);
}

void Claims::IsThere(JobEntry& entry, const std::string& claim) {
  known_.insert(claim);
  entry.plugin_objects.IsThere(entry, "PVCError", ClaimSubject(claim));
}

// The interest in the claim lasts until the claim comes: nothing else about it arrives before that.
void Claims::Await(JobEntry& entry, const WantedClaim& claim, PartHost& host) {
  if (!StillNames(entry, claim)) return;
  awaited_.insert(claim.name);
  host.claim_waits().Add(entry.ns, claim.name, entry.key);
  entry.problems.End("PVCError", ClaimSubject(claim.name));  // The claim could be read: an earlier refusal is over.
  host.ReportProblem(entry, IsMissing(claim));
}

void Claims::StopAwaiting(const JobEntry& entry, PartHost& host) {
  for (const std::string& claim : std::exchange(awaited_, {})) {
    host.claim_waits().Remove(entry.ns, claim, entry.key);
  }
}

void Claims::Arrived(const kube::v1::ObjectMeta& meta, PartHost& host) {
  for (const std::string& key : host.claim_waits().Take(meta.namespace_(), meta.name())) {
    JobEntry& entry = *host.entries().Find(key);
    entry.claims.awaited_.erase(meta.name());
    entry.claims.IsThere(entry, meta.name());
    host.Wake(entry);
  }
}

}  // namespace basalt::jobsvc
