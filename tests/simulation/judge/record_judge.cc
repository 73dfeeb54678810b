#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>
#include <utility>

#include "common/base/slots.h"
#include "services/jobsvc/store/history_store.h"
#include "services/jobsvc/store/job_store.h"
#include "tests/simulation/judge/judge.h"

namespace basalt::simulation {
namespace {

struct Transition {
  std::string from;
  std::string to;
  friend bool operator==(const Transition&, const Transition&) = default;
};

std::string Text(kube::v1::JobPhase phase) {
  const std::string name = kube::v1::JobPhase_Name(phase).substr(std::string_view("JOB_PHASE_").size());
  if (name == "UNSPECIFIED") return "";
  std::string text;
  for (size_t i = 0; i < name.size(); ++i) text += i == 0 ? name[i] : static_cast<char>(std::tolower(name[i]));
  return text;
}

// Returns the phase changes of each job in the log, by the job's UID.
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

// Returns true if every record of the job's decisions must still exist: no disk was lost, and the job's slot never
// continued without the records of another replica.
bool LostNothing(SimSuite& suite, const PlannedJob& job) {
  return !suite.disk_lost("jobsvc") && !suite.RecordsLost("jobsvc", SlotOf("default/" + job.name));
}

// The number of a status write, and of an edit after it.
using Number = std::pair<int64_t, int64_t>;

// Returns the history of the job on all disks, by number. A decision in the history of a replica that lost the slot may
// never have been committed.
std::map<Number, storage::v1::HistoryRecord> HistoryOf(SimSuite& suite, const PlannedJob& job, bool lost_nothing,
                                                       std::vector<std::string>& violations) {
  std::map<Number, storage::v1::HistoryRecord> all;
  for (const std::string& host : suite.EverStarted("jobsvc")) {
    const std::unique_ptr<kv::KvStore> store = kv::OpenMemKv(suite.disk(host));
    const auto history = jobsvc::HistoryStore(*store).Read(SlotOf("default/" + job.name), job.uid);
    if (!history.ok()) {
      violations.push_back(fmt::format("history of {} at {}: {}", job.name, host, history.status().ToString()));
      continue;
    }
    std::set<Number> numbers;
    for (const storage::v1::HistoryRecord& entry : *history) {
      const Number number(entry.sequence(), entry.generation());
      if (!numbers.insert(number).second) {
        violations.push_back(fmt::format("{} has two history entries of number {}", job.name, entry.sequence()));
      }
      if (!entry.committed()) {
        if (lost_nothing && !job.deleted) {
          violations.push_back(fmt::format("{}: history entry {} stands for nothing", job.name, entry.sequence()));
        }
        continue;
      }
      const auto [known, first] = all.try_emplace(number, entry);
      if (first || (known->second.from_phase() == entry.from_phase() && known->second.to_phase() == entry.to_phase())) {
        continue;
      }
      violations.push_back(fmt::format("{}: history entry {} is another one at {}", job.name, entry.sequence(), host));
    }
  }
  return all;
}

void CheckRecord(SimSuite& suite, const PlannedJob& job, const std::string& owner,
                 std::vector<std::string>& violations) {
  const std::string key = "default/" + job.name;
  const std::unique_ptr<kv::KvStore> store = kv::OpenMemKv(suite.disk(owner));
  bool found = false;
  const absl::Status jobs = jobsvc::ForEachJob(*store, SlotOf(key), [&](std::string job_key, const auto& record) {
    found = found || (job_key == key && record.uid() == job.uid && !record.gone());
  });
  std::map<std::string, std::string> pods;  // UIDs by name.
  const absl::Status read = jobsvc::ForEachPod(
      *store, SlotOf(key), key, [&](std::string_view pod, const auto& record) { pods.emplace(pod, record.uid()); });
  if (!jobs.ok() || !read.ok() || !found) {
    violations.push_back(fmt::format("{} owns {} and has no record of it", owner, job.name));
    return;
  }
  for (const std::string& name : job.pods) {
    const auto pod = suite.api().Get("pods", "default", name);
    if (pod == nullptr) continue;
    const std::string_view uid = FindString(*Find(*pod, "metadata"), "uid");
    const auto recorded = pods.find(name);
    if (recorded != pods.end() && recorded->second == uid) continue;
    violations.push_back(fmt::format("{}: pod {} is {} and recorded as {}", job.name, name, uid,
                                     recorded == pods.end() ? "nothing" : recorded->second));
  }
  for (const auto& [name, uid] : pods) {
    const auto pod = suite.api().Get("pods", "default", name);
    if (pod != nullptr && FindString(*Find(*pod, "metadata"), "uid") == uid) continue;
    violations.push_back(fmt::format("{}: pod {} ({}) is recorded and gone", job.name, name, uid));
  }
}

// Checks that the next owner of the key would find exactly the deadlines that the owner keeps. This covers jobs that
// are gone, too.
void CheckDeadlines(SimSuite& suite, const std::string& key, const std::string& owner,
                    std::vector<std::string>& violations) {
  const jobsvc::JobController* const controller = suite.JobsAt(owner);
  if (controller == nullptr) return;
  std::set<std::string> kept;
  if (const jobsvc::JobEntry* const entry = controller->Find(key); entry != nullptr) {
    for (const storage::v1::PendingAction* deadline : entry->deadlines.Earliest(entry->deadlines.size())) {
      if (jobsvc::IsKept(*deadline)) kept.insert(deadline->SerializeAsString());
    }
  }
  std::set<std::string> recorded;
  const std::unique_ptr<kv::KvStore> store = kv::OpenMemKv(suite.disk(owner));
  const absl::Status read =
      jobsvc::ForEachDeadline(*store, SlotOf(key), [&](const std::string& job_key, const auto& deadline) {
        if (job_key == key) recorded.insert(deadline.SerializeAsString());
      });
  if (read.ok() && kept == recorded) return;
  violations.push_back(fmt::format("{} keeps {} deadlines of {}, and {} are recorded: they are not the same", owner,
                                   kept.size(), key, recorded.size()));
}

}  // namespace

void JudgeRecords(SimSuite& suite, const std::vector<PlannedJob>& jobs, std::vector<std::string>& violations) {
  const std::vector<std::string> replicas = suite.Joined("jobsvc");
  for (const PlannedJob& job : jobs) {
    if (job.replaced) continue;
    const std::string key = "default/" + job.name;
    const std::string owner = suite.OwnerOf("jobsvc", key);
    if (std::find(replicas.begin(), replicas.end(), owner) == replicas.end()) {
      violations.push_back(fmt::format("{} belongs to '{}', which is not there", job.name, owner));
      continue;
    }
    for (const std::string& replica : replicas) {
      const jobsvc::JobController* const controller = suite.JobsAt(replica);
      if (controller == nullptr) {
        violations.push_back(fmt::format("{} has ended by itself", replica));
        continue;
      }
      if (suite.OwnerAt(replica, key) != owner) {
        violations.push_back(fmt::format("{} belongs to {} for {}, to {} for others", job.name,
                                         suite.OwnerAt(replica, key), replica, owner));
      }
      if (replica != owner && controller->Find(key) != nullptr) {
        violations.push_back(fmt::format("{} belongs to {}, and {} works on it, too", job.name, owner, replica));
      }
    }
    CheckDeadlines(suite, key, owner, violations);
    if (!job.deleted) CheckRecord(suite, job, owner, violations);
  }
}

void JudgeHistory(SimSuite& suite, const std::vector<PlannedJob>& jobs, std::vector<std::string>& violations) {
  const auto transitions = TransitionsInLog(suite.api());
  for (const PlannedJob& job : jobs) {
    const bool lost_nothing = LostNothing(suite, job);
    std::vector<Transition> recorded;
    for (const auto& [number, entry] : HistoryOf(suite, job, lost_nothing, violations)) {
      if (entry.from_phase() == entry.to_phase()) continue;
      recorded.push_back({Text(entry.from_phase()), Text(entry.to_phase())});
    }
    const auto found = transitions.find(job.uid);
    const std::vector<Transition> seen = found == transitions.end() ? std::vector<Transition>() : found->second;
    for (const Transition& transition : recorded) {
      const auto in_history = std::count(recorded.begin(), recorded.end(), transition);
      const auto in_seen = std::count(seen.begin(), seen.end(), transition);
      if (in_history > in_seen) {
        violations.push_back(fmt::format("{}: history tells {} -> {} {} times, it happened {} times", job.name,
                                         transition.from, transition.to, in_history, in_seen));
        break;
      }
    }
    // The last write of a deleted job may have been acknowledged to no replica.
    if (lost_nothing && !job.deleted && recorded.size() != seen.size()) {
      violations.push_back(
          fmt::format("{}: {} transitions happened, history tells {}", job.name, seen.size(), recorded.size()));
    }
  }
}

}  // namespace basalt::simulation
