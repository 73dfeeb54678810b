#pragma once

// The part of a job that provides the claims that its pods mount: it creates them, finds them, or waits until somebody
// creates them. It shares the back-off of PluginObjects. Its state is lost with the process on purpose. Runs on the
// controller's loop.
#include <set>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/runtime/write_outcome.h"
#include "services/jobsvc/core/spec/compiled_job.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class Claims {
 public:
  // Takes over the claims that the status names.
  void Load(const JobEntry& entry);
  // Creates or reads the claims that are missing.
  void Apply(JobEntry& entry, PartHost& host);
  // Stops waiting for claims. Call before the part is destroyed, too: the controller keeps a list of waiting jobs.
  void StopAwaiting(const JobEntry& entry, PartHost& host);
  // A claim is there, or has changed: the jobs that wait for it go on.
  static void Arrived(const kube::v1::ObjectMeta& meta, PartHost& host);

  // Claims that are known to be there.
  const std::set<std::string>& known() const { return known_; }
  bool HasAll(const JobEntry& entry) const;
  bool IsAwaited(const std::string& claim) const { return awaited_.contains(claim); }

 private:
  void Ensure(JobEntry& entry, const WantedClaim& claim, PartHost& host);
  void Created(JobEntry& entry, const WantedClaim& claim, const runtime::WriteOutcome& outcome, PartHost& host);
  void Look(JobEntry& entry, const WantedClaim& claim, PartHost& host);
  void Found(JobEntry& entry, const WantedClaim& claim, const absl::StatusOr<gateway::v1::GetResponse>& response,
             PartHost& host);
  void IsThere(JobEntry& entry, const std::string& claim);
  void Await(JobEntry& entry, const WantedClaim& claim, PartHost& host);

  std::set<std::string> known_;
  std::set<std::string> awaited_;  // Missing claims for which the job is in ClaimWaits.
};

}  // namespace basalt::jobsvc
