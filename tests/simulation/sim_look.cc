// Observes the suite from outside, for the plan of faults and for the checks.
#include <fmt/format.h>

#include <algorithm>

#include "common/kube/names.h"
#include "common/rpc/program_name.h"
#include "gateway/lead/lease.h"
#include "tests/simulation/sim_suite.h"

namespace basalt::simulation {
namespace {

void Mix(uint64_t& hash, std::string_view text) {
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  hash ^= 0xff;
  hash *= 1099511628211ULL;
}

std::string PhaseIn(const json::value& job) {
  const json::value* state = FindPath(job, {"status", "state"});
  const std::string_view phase = state == nullptr ? std::string_view() : FindString(*state, "phase");
  return phase.empty() ? "-" : std::string(phase);
}

}  // namespace

uint64_t SimSuite::SlotsWithoutRecords(const std::string& service) const {
  uint64_t slots = 0;
  for (auto it = records_lost_.lower_bound({service, 0}); it != records_lost_.end() && it->first.first == service;
       ++it) {
    slots += it->second;
  }
  return slots;
}

bool SimSuite::IsSeenFailed(std::string_view pod_uid) const {
  const auto lead = gateway::ParseIdentity(Leader());
  const auto host = lead ? hosts_.find(lead->replica) : hosts_.end();
  if (host == hosts_.end() || host->second.gateway == nullptr) return false;
  const gateway::Cache& cache = host->second.gateway->gateway->cache();
  for (size_t watch = 0; watch < cache.watches().size(); ++watch) {
    if (cache.watches()[watch].id != kube::kWatchJobPods) continue;
    const gateway::ObjectId id = cache.Find(static_cast<gateway::WatchIndex>(watch), pod_uid);
    return id != gateway::kNoObject && cache.Read(id).pod().phase() == kube::v1::POD_PHASE_FAILED;
  }
  return false;
}

bool SimSuite::NothingForgotten(absl::Time from, absl::Time until) const {
  const absl::Time before = from - absl::Seconds(30);   // A replica that could not hear then may still not be able to.
  const absl::Duration late = absl::Milliseconds(100);  // Moves are recorded once they are observed.
  for (const Event& event : events_) {
    if (event.time > until + late) break;
    const std::string_view what = event.what;
    const bool forgets = what.starts_with(kGateway) || what.find("disk") != what.npos || what.starts_with("slots move");
    const bool hides = what.ends_with(" stops") || what.ends_with(" lose each other");
    if (event.time >= from && forgets) return false;
    if (event.time >= before && hides && what.find("jobsvc") != what.npos) return false;
  }
  return true;
}

bool SimSuite::disk_lost(std::string_view service) const {
  return std::any_of(hosts_.begin(), hosts_.end(),
                     [&](const auto& entry) { return entry.second.program == service && entry.second.disk_lost; });
}

std::vector<std::string> SimSuite::Joined(std::string_view program) const {
  std::vector<std::string> names;
  for (const auto& [name, host] : hosts_) {
    if (host.joined && (program.empty() || host.program == program)) names.push_back(name);
  }
  return names;
}

std::vector<std::string> SimSuite::Joined() const { return Joined(""); }

std::vector<std::string> SimSuite::EverStarted(std::string_view program) const {
  std::vector<std::string> names;
  for (const auto& [name, host] : hosts_) {
    if (host.started && host.program == program) names.push_back(name);
  }
  return names;
}

std::string SimSuite::NextToJoin(std::string_view service) const {
  for (const auto& [name, host] : hosts_) {
    if (host.program == service && !host.joined && host.service == nullptr) return name;
  }
  return "";
}

std::string SimSuite::Leader() const {
  const gateway::LeadOptions lead;
  const auto lease = api_->Get("leases.coordination.k8s.io", lead.lease_namespace, lead.lease_name);
  const json::value* spec = lease == nullptr ? nullptr : Find(*lease, "spec");
  return spec == nullptr ? std::string() : std::string(FindString(*spec, "holderIdentity"));
}

std::string SimSuite::OwnerAt(std::string_view name, std::string_view key) const {
  const Host& host = HostOf(name);
  const auto owner = host.service->replica->OwnerOf(rpc::ServiceOfProgram(host.program), key);
  return owner.has_value() ? owner->replica() : std::string();
}

std::string SimSuite::OwnerOf(std::string_view service, std::string_view key) {
  for (const auto& [name, host] : hosts_) {
    if (host.program != service || !host.is_running() || IsPaused(name)) continue;
    if (std::string owner = OwnerAt(name, key); !owner.empty()) return owner;
  }
  return "";
}

std::vector<std::string> SimSuite::Problems() const {
  std::vector<std::string> problems;
  for (const auto& [name, host] : hosts_) {
    if (!host.joined) {
      if (host.is_running()) problems.push_back(fmt::format("{} has not left yet", name));
      continue;
    }
    if (!host.is_running()) problems.push_back(fmt::format("{} does not run", name));
    const obs::Health* health = host.gateway != nullptr   ? &host.gateway->health
                                : host.service != nullptr ? &host.service->health
                                                          : nullptr;
    if (health == nullptr) continue;
    for (const obs::Health::Target& target : health->Targets()) {
      if (!target.ready) problems.push_back(fmt::format("{}: {} is not ready: {}", name, target.name, target.why));
    }
  }
  return problems;
}

const jobsvc::JobController* SimSuite::JobsAt(std::string_view host) const {
  return HostOf(host).is_running() ? HostOf(host).service->jobs : nullptr;
}

std::string SimSuite::JobPhase(std::string_view ns, std::string_view name) const {
  const std::shared_ptr<const json::value> job = api_->Get("jobs.batch.volcano.sh", ns, name);
  return job == nullptr ? std::string() : PhaseIn(*job);
}

std::shared_ptr<const json::value> SimSuite::JobOf(std::string_view name, std::string_view uid) const {
  std::shared_ptr<const json::value> job = api_->Get("jobs.batch.volcano.sh", "default", name);
  return job != nullptr && FindString(*Find(*job, "metadata"), "uid") == uid ? job : nullptr;
}

std::string SimSuite::PhaseOf(std::string_view name, std::string_view uid) const {
  const std::shared_ptr<const json::value> job = JobOf(name, uid);
  return job == nullptr ? std::string() : PhaseIn(*job);
}

uint64_t SimSuite::TraceHash() const {
  uint64_t hash = 14695981039346656037ULL;
  for (const kubesim::LoggedRequest& request : api_->log()) {
    Mix(hash, fmt::format("{} {} {} {}/{} {} {} {} {}", absl::ToUnixNanos(request.time), request.verb, request.resource,
                          request.ns, request.name, request.subresource, request.status, request.resource_version,
                          request.user_agent));
    Mix(hash, ToText(request.body));
  }
  return hash;
}

}  // namespace basalt::simulation
