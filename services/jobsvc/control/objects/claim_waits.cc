#include "services/jobsvc/control/objects/claim_waits.h"

namespace basalt::jobsvc {

void ClaimWaits::Add(const std::string& ns, const std::string& claim, const std::string& job) {
  std::set<std::string>& jobs = jobs_[{ns, claim}];
  if (jobs.empty()) context_.AddInterest(kClaims, ns, claim);
  jobs.insert(job);
}

void ClaimWaits::Remove(const std::string& ns, const std::string& claim, const std::string& job) {
  const auto at = jobs_.find({ns, claim});
  if (at == jobs_.end() || at->second.erase(job) == 0 || !at->second.empty()) return;
  jobs_.erase(at);
  context_.DropInterest(kClaims, ns, claim);
}

std::set<std::string> ClaimWaits::Take(const std::string& ns, const std::string& claim) {
  auto taken = jobs_.extract({ns, claim});
  if (taken.empty()) return {};
  context_.DropInterest(kClaims, ns, claim);
  return std::move(taken.mapped());
}

}  // namespace basalt::jobsvc
