#include <fmt/format.h>

#include <map>
#include <set>

#include "common/base/slots.h"
#include "services/jobsvc/store/job_store.h"
#include "tests/simulation/scenario.h"

namespace basalt::simulation {
namespace {

struct Transition {
  std::string from;
  std::string to;
  friend bool operator==(const Transition&, const Transition&) = default;
};

bool Succeeded(const kubesim::LoggedRequest& request) {
  return request.status >= 200 && request.status < 300 && !request.dropped_request && !request.dry_run;
}

bool IsOurs(const kubesim::LoggedRequest& request) { return request.user_agent.starts_with("basalt"); }

std::string_view PhaseOf(const kubesim::LoggedRequest& request) {
  const json::value* state = FindPath(request.body, {"status", "state"});
  return state == nullptr ? std::string_view() : FindString(*state, "phase");
}

std::string Text(kube::v1::JobPhase phase) {
  const std::string name = kube::v1::JobPhase_Name(phase).substr(std::string_view("JOB_PHASE_").size());
  if (name == "UNSPECIFIED") return "";
  std::string text;
  for (size_t i = 0; i < name.size(); ++i) text += i == 0 ? name[i] : static_cast<char>(std::tolower(name[i]));
  return text;
}

// What the log says of each job's phases, by UID.
std::map<std::string, std::vector<Transition>> TransitionsInLog(kubesim::ApiServer& api) {
  std::map<std::string, std::vector<Transition>> all;
  std::map<std::string, std::string> phase;
  for (const kubesim::LoggedRequest& request : api.log()) {
    if (request.resource != "jobs" || request.subresource != "status" || !Succeeded(request)) continue;
    const std::string_view next = PhaseOf(request);
    if (next.empty() || phase[request.uid] == next) continue;
    all[request.uid].push_back({phase[request.uid], std::string(next)});
    phase[request.uid] = next;
  }
  return all;
}

void JudgeCreates(kubesim::ApiServer& api, const std::vector<PlannedJob>& jobs, std::vector<std::string>& violations) {
  std::set<std::string> expected;
  for (const PlannedJob& job : jobs) expected.insert(job.pods.begin(), job.pods.end());
  std::map<std::string, int> creates;
  for (const kubesim::LoggedRequest& request : api.log()) {
    if (request.resource != "pods" || request.verb != "create" || !request.subresource.empty()) continue;
    if (!Succeeded(request)) continue;
    ++creates[request.name];
    if (expected.count(request.name) == 0) {
      violations.push_back(fmt::format("pod {} belongs to no job's spec", request.name));
    }
  }
  for (const auto& [pod, count] : creates) {
    if (count > 1) violations.push_back(fmt::format("pod {} was made {} times and no decision called for it", pod, count));
  }
}

// Nothing in these jobs asks for a deletion before the end.
void JudgeDeletions(kubesim::ApiServer& api, const std::vector<PlannedJob>& jobs, std::vector<std::string>& violations) {
  std::map<std::string, std::string> job_of_pod;
  for (const PlannedJob& job : jobs) {
    for (const std::string& pod : job.pods) job_of_pod[pod] = job.name;
  }
  std::map<std::string, std::string> phase;
  std::set<std::string> deleted;
  for (const kubesim::LoggedRequest& request : api.log()) {
    if (!Succeeded(request)) continue;
    if (request.resource == "jobs" && request.subresource == "status") {
      if (const std::string_view next = PhaseOf(request); !next.empty()) phase[request.name] = next;
    }
    if (request.resource == "jobs" && request.verb == "delete") deleted.insert(request.name);
    if (!IsOurs(request) || request.resource != "pods") continue;
    if (request.verb != "delete" && request.verb != "deletecollection") continue;
    const std::string& job = job_of_pod[request.name];
    if (phase[job] != "Completed" && phase[job] != "Failed" && deleted.count(job) == 0) {
      violations.push_back(fmt::format("pod {} was deleted while its job was '{}'", request.name, phase[job]));
    }
  }
}

void JudgeHistory(SimSuite& suite, const std::vector<PlannedJob>& jobs, std::vector<std::string>& violations) {
  const auto transitions = TransitionsInLog(suite.api());
  const std::unique_ptr<kv::KvStore> store = kv::OpenMemKv(suite.disk("jobsvc"));
  for (const PlannedJob& job : jobs) {
    const uint32_t slot = SlotOf("default/" + job.name);
    const auto history = jobsvc::ReadHistory(*store, slot, job.uid);
    if (!history.ok()) {
      violations.push_back(fmt::format("history of {}: {}", job.name, history.status().ToString()));
      continue;
    }
    std::vector<Transition> told;
    std::set<int64_t> sequences;
    for (const storage::v1::HistoryRecord& entry : *history) {
      if (!sequences.insert(entry.sequence()).second) {
        violations.push_back(fmt::format("{} has two history entries of number {}", job.name, entry.sequence()));
      }
      if (entry.from_phase() != entry.to_phase() && entry.committed()) {
        told.push_back({Text(entry.from_phase()), Text(entry.to_phase())});
      }
    }
    const auto found = transitions.find(job.uid);
    const std::vector<Transition> seen = found == transitions.end() ? std::vector<Transition>() : found->second;
    for (const Transition& transition : told) {
      const auto in_told = std::count(told.begin(), told.end(), transition);
      const auto in_seen = std::count(seen.begin(), seen.end(), transition);
      if (in_told > in_seen) {
        violations.push_back(fmt::format("{}: history tells {} -> {} {} times, it happened {} times", job.name,
                                         transition.from, transition.to, in_told, in_seen));
        break;
      }
    }
    // A job that was deleted may have had its last write acknowledged to nobody.
    if (!suite.disk_lost("jobsvc") && !job.deleted && told.size() != seen.size()) {
      violations.push_back(fmt::format("{}: {} transitions happened, history tells {}", job.name, seen.size(), told.size()));
    }
  }
}

void JudgeLeftovers(SimSuite& suite, const std::vector<PlannedJob>& jobs, std::vector<std::string>& violations) {
  for (const PlannedJob& job : jobs) {
    const auto gone = [&](std::string_view resource, const std::string& name) {
      if (suite.api().Get(resource, "default", name) != nullptr) {
        violations.push_back(fmt::format("{} {} is left of {}", resource, name, job.name));
      }
    };
    gone("podgroups.scheduling.volcano.sh", job.name + "-" + job.uid);
    gone("services", job.name);
    gone("configmaps", job.name + "-svc");
    gone("networkpolicies.networking.k8s.io", job.name);
    gone("secrets", job.name + "-ssh");
    if (!job.deleted) continue;
    for (const std::string& pod : job.pods) gone("pods", pod);
  }
}

// Counters, records and Kubernetes agree once it is quiet.
void JudgeCounts(SimSuite& suite, const std::vector<PlannedJob>& jobs, std::vector<std::string>& violations) {
  for (const PlannedJob& job : jobs) {
    if (job.deleted) continue;
    const auto stored = suite.api().Get("jobs.batch.volcano.sh", "default", job.name);
    if (stored == nullptr) {
      violations.push_back(fmt::format("{} is gone", job.name));
      continue;
    }
    const std::string phase = suite.JobPhase("default", job.name);
    const std::string_view wanted = job.succeeds ? "Completed" : "Failed";
    if (phase != wanted) violations.push_back(fmt::format("{} ended as {}, not {}", job.name, phase, wanted));
    std::map<std::string, int64_t> counts;
    for (const std::string& name : job.pods) {
      const auto pod = suite.api().Get("pods", "default", name);
      if (pod == nullptr) continue;
      ++counts[std::string(FindString(*FindPath(*pod, {"status"}), "phase"))];
    }
    const json::value& status = *Find(*stored, "status");
    for (const auto& [field, pod_phase] :
         {std::pair("pending", "Pending"), std::pair("running", "Running"), std::pair("succeeded", "Succeeded"),
          std::pair("failed", "Failed")}) {
      if (FindInt(status, field) != counts[pod_phase]) {
        violations.push_back(fmt::format("{}: status.{} is {}, there are {}", job.name, field, FindInt(status, field),
                                         counts[pod_phase]));
      }
    }
  }
}

}  // namespace

void Judge(SimSuite& suite, const std::vector<PlannedJob>& jobs, std::vector<std::string>& violations) {
  JudgeCreates(suite.api(), jobs, violations);
  JudgeDeletions(suite.api(), jobs, violations);
  JudgeHistory(suite, jobs, violations);
  JudgeLeftovers(suite, jobs, violations);
  JudgeCounts(suite, jobs, violations);
}

}  // namespace basalt::simulation
