#pragma once

// The part of a job that sees to the claims that its pods mount: made for it, or found there, or waited for until
// somebody makes them. It shares the back-off of PluginObjects. Lost with the process on purpose. On the controller's
// loop.
#include <set>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/runtime/write_outcome.h"
#include "services/jobsvc/core/compiled_job.h"

namespace basalt::jobsvc {

struct JobEntry;
class PartHost;

class Claims {
 public:
  // Takes over what the status says.
  void Load(const JobEntry& entry);
  // Makes or looks for those that are missing.
  void Apply(JobEntry& entry, PartHost& host);
  // Nobody is to be asked for any more. Before the part is thrown away, too: the controller knows who waits.
  void StopAwaiting(const JobEntry& entry, PartHost& host);
  // A claim is there, or has changed: whoever waits for it goes on.
  static void Arrived(const kube::v1::ObjectMeta& meta, PartHost& host);

  // Known to be there.
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
  std::set<std::string> awaited_;  // Missing, and in ClaimWaits.
};

}  // namespace basalt::jobsvc
