#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "common/base/slots.h"
#include "services/jobsvc/store/job_store.h"
#include "tests/e2e/writer.h"
#include "tests/simulation/judge.h"

namespace basalt::simulation {

bool Succeeded(const kubesim::LoggedRequest& request) {
  return request.status >= 200 && request.status < 300 && !request.dropped_request && !request.dry_run;
}

bool IsOurs(const kubesim::LoggedRequest& request) { return e2e::IsByOwner(request.user_agent); }

std::string_view PhaseOf(const kubesim::LoggedRequest& request) {
  const json::value* state = FindPath(request.body, {"status", "state"});
  return state == nullptr ? std::string_view() : FindString(*state, "phase");
}

namespace {

// What the log tells of one job up to some request.
struct Story {
  std::string phase;
  int64_t version = 0;
  bool deleted = false;
  int64_t evictions = 0;  // Deletions of its pods by users.
  int64_t first_task_successes = 0;
  std::set<std::string> failed;  // UIDs of pods.
};

struct PodStory {
  const PlannedJob* job = nullptr;
  std::string uid;  // The newest.
  std::string phase;
  int64_t version = 0;
  int64_t creates = 0;
  int64_t user_deletions = 0;
  int64_t collected = 0;  // Copies that went with their job: seen before the job's own deletion, it calls for another.
};

// Nothing is made or removed, and no policy carried out, without a reason that was there before.
class LogJudge {
 public:
  LogJudge(const SimSuite& suite, const std::vector<PlannedJob>& jobs, std::vector<std::string>& violations)
      : suite_(suite), violations_(violations) {
    for (const PlannedJob& job : jobs) {
      jobs_[job.name] = &job;
      for (const std::string& pod : job.pods) pods_[pod].job = &job;
    }
  }

  void Read(const kubesim::LoggedRequest& request) {
    if (!Succeeded(request)) return;
    if (request.resource == "jobs" && request.subresource == "status" && jobs_.count(request.name) > 0) {
      OnStatus(*jobs_[request.name], request);
    }
    if (request.resource == "jobs" && request.verb == "delete") stories_[request.name].deleted = true;
    if (request.resource != "pods") return;
    if (request.verb == "create" && request.subresource.empty()) return OnCreate(request);
    const auto pod = pods_.find(request.name);
    if (pod == pods_.end()) return;
    if (request.verb == "patch" && request.subresource == "status") OnPodStatus(pod->second, request);
    if (request.verb == "delete" || request.verb == "deletecollection") OnDelete(pod->second, request);
  }

  // The pod succeeded, and no kill that retains nothing has followed.
  bool CountsAlthoughGone(const std::string& name) const {
    const PodStory& pod = pods_.at(name);
    const auto job = stories_.find(pod.job->name);
    if (pod.phase != "Succeeded" || job == stories_.end()) return false;
    // The last of the retries keeps what has finished.
    const int64_t emptied = pod.job->kind == JobKind::kRestarts ? std::min<int64_t>(job->second.version, 1) : 0;
    return pod.version >= emptied;
  }

 private:
  void OnCreate(const kubesim::LoggedRequest& request) {
    const auto found = pods_.find(request.name);
    if (found == pods_.end()) {
      violations_.push_back(fmt::format("pod {} belongs to no job's spec", request.name));
      return;
    }
    PodStory& pod = found->second;
    const Story& job = stories_[pod.job->name];
    const json::value* annotations = FindPath(request.body, {"metadata", "annotations"});
    const std::string_view version = annotations == nullptr ? "" : FindString(*annotations, "volcano.sh/job-version");
    const int64_t version_before = pod.version;
    pod.version = 0;
    std::from_chars(version.data(), version.data() + version.size(), pod.version);
    pod.phase = "Pending";
    if (pod.creates > 0 && version_before == job.version && pod.version == job.version) {
      JudgeSeenFailure(pod, request);
    }
    pod.uid = request.uid;
    // Of an older one it may be: what was sent before a kill can arrive after it.
    if (pod.version > job.version) {
      violations_.push_back(fmt::format("pod {} was made for version {} of its job, which has {}", request.name,
                                        pod.version, job.version));
    }
    // The name was free again: the copy before went with the job.
    if (job.deleted && pod.creates > 0) ++pod.collected;
    // One for each full kill and each deletion by a user calls for a new one.
    if (++pod.creates > 1 + pod.user_deletions + pod.collected + job.version) {
      violations_.push_back(fmt::format("pod {} was made {} times; {} deletions by users, version {}", request.name,
                                        pod.creates, pod.user_deletions, job.version));
    }
  }

  // That the one before has failed calls for an action, and nothing was done so far.
  void JudgeSeenFailure(const PodStory& before, const kubesim::LoggedRequest& request) {
    if (before.job->kind != JobKind::kOnFailure && before.job->kind != JobKind::kRestarts) return;
    for (const SimSuite::SeenFailure& seen : suite_.seen_failures()) {
      if (seen.uid != before.uid || seen.time > request.time) continue;
      if (!suite_.NothingForgotten(seen.time, request.time)) continue;
      violations_.push_back(fmt::format(
          "pod {} had failed before it was deleted, and was made again without what its job does then", request.name));
    }
  }

  void OnPodStatus(PodStory& pod, const kubesim::LoggedRequest& request) {
    const json::value* status = Find(request.body, "status");
    const std::string_view phase = status == nullptr ? "" : FindString(*status, "phase");
    if (phase.empty() || pod.phase == phase) return;
    pod.phase = phase;
    Story& job = stories_[pod.job->name];
    if (phase == "Failed") job.failed.insert(request.uid);
    if (phase == "Succeeded" && request.name.find("-t0-") != std::string::npos) ++job.first_task_successes;
  }

  void OnDelete(PodStory& pod, const kubesim::LoggedRequest& request) {
    Story& job = stories_[pod.job->name];
    if (request.user_agent == "user") {
      ++pod.user_deletions;
      ++job.evictions;
    }
    if (!IsOurs(request)) return;
    const bool draining = job.phase == "Completing" || job.phase == "Completed" || job.phase == "Terminating" ||
                          job.phase == "Terminated" || job.phase == "Failed" || job.phase == "Aborting" ||
                          job.phase == "Aborted";
    if (draining || job.deleted || pod.version < job.version) return;
    violations_.push_back(fmt::format("pod {} of version {} was deleted while its job was '{}' of version {}",
                                      request.name, pod.version, job.phase, job.version));
  }

  void OnStatus(const PlannedJob& planned, const kubesim::LoggedRequest& request) {
    Story& job = stories_[planned.name];
    const json::value* version = FindPath(request.body, {"status", "version"});
    if (version != nullptr && version->is_int64()) {
      const int64_t next = version->as_int64();
      if (next != job.version + 1) {
        violations_.push_back(fmt::format("{}: version {} came after {}", planned.name, next, job.version));
      }
      job.version = next;
      JudgeKill(planned, job);
    }
    if (const std::string_view next = PhaseOf(request); !next.empty()) job.phase = next;
  }

  // The facts behind a full kill: its version is new.
  void JudgeKill(const PlannedJob& planned, const Story& job) {
    const auto without = [&](std::string_view fact) {
      violations_.push_back(fmt::format("{}: full kill {} without {}", planned.name, job.version, fact));
    };
    switch (planned.kind) {
      case JobKind::kPlain:
        return without("any policy");
      case JobKind::kOnEviction:
        if (job.evictions == 0) without("a deletion of its pods by a user");
        return;
      case JobKind::kOnFailure:
      case JobKind::kRestarts:
        if (static_cast<int64_t>(job.failed.size()) < job.version) without("a pod that failed");
        return;
      case JobKind::kSuspended:
      case JobKind::kTerminated:
        return;  // command_judge.cc
      case JobKind::kOnTaskComplete:
        if (job.first_task_successes < planned.first_task_replicas) without("its first task complete");
        return;
    }
  }

  const SimSuite& suite_;
  std::vector<std::string>& violations_;
  std::map<std::string, const PlannedJob*> jobs_;
  std::map<std::string, Story> stories_;
  std::map<std::string, PodStory> pods_;
};

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
void JudgeCounts(SimSuite& suite, const std::vector<PlannedJob>& jobs, const LogJudge& log,
                 std::vector<std::string>& violations) {
  for (const PlannedJob& job : jobs) {
    if (job.deleted) continue;
    const auto stored = suite.api().Get("jobs.batch.volcano.sh", "default", job.name);
    if (stored == nullptr) {
      violations.push_back(fmt::format("{} is gone", job.name));
      continue;
    }
    const std::string phase = suite.JobPhase("default", job.name);
    if (std::find(job.ends.begin(), job.ends.end(), phase) == job.ends.end()) {
      violations.push_back(fmt::format("{} ended as {}, not {}", job.name, phase, fmt::join(job.ends, " or ")));
    }
    std::map<std::string_view, int64_t> counts;
    int64_t gone_when_succeeded = 0;
    for (const std::string& name : job.pods) {
      const auto pod = suite.api().Get("pods", "default", name);
      if (pod != nullptr) {
        ++counts[FindString(*FindPath(*pod, {"status"}), "phase")];
      } else if (log.CountsAlthoughGone(name)) {
        ++gone_when_succeeded;
      }
    }
    const json::value* status = Find(*stored, "status");
    if (status == nullptr) continue;
    for (const auto& [field, pod_phase] : {std::pair("pending", "Pending"), std::pair("running", "Running"),
                                           std::pair("succeeded", "Succeeded"), std::pair("failed", "Failed")}) {
      // What succeeded and was removed is done, if somebody saw it.
      const int64_t least = counts[pod_phase];
      const int64_t most = least + (pod_phase == std::string_view("Succeeded") ? gone_when_succeeded : 0);
      const int64_t told = FindInt(*status, field);
      if (told < least || told > most) {
        violations.push_back(fmt::format("{}: status.{} is {}, there are {}", job.name, field, told, least));
      }
    }
  }
}

}  // namespace

void Judge(SimSuite& suite, const std::vector<PlannedJob>& jobs, std::vector<std::string>& violations) {
  LogJudge log(suite, jobs, violations);
  for (const kubesim::LoggedRequest& request : suite.api().log()) log.Read(request);
  for (std::string& trouble : suite.Troubles()) violations.push_back(std::move(trouble));
  JudgeWriters(suite.api(), violations);
  JudgeCommands(suite.api(), jobs, violations);
  JudgeRecords(suite, jobs, violations);
  JudgeHistory(suite, jobs, violations);
  JudgeLeftovers(suite, jobs, violations);
  JudgeCounts(suite, jobs, log, violations);
}

}  // namespace basalt::simulation
