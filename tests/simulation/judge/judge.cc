#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "common/base/slots.h"
#include "common/kube/names.h"
#include "tests/e2e/writer.h"
#include "tests/simulation/judge/judge.h"

namespace basalt::simulation {

bool Succeeded(const kubesim::LoggedRequest& request) {
  return request.status >= 200 && request.status < 300 && !request.dropped_request && !request.dry_run;
}

bool IsOurs(const kubesim::LoggedRequest& request) { return e2e::IsByOwner(request.user_agent); }

std::string_view PhaseOf(const kubesim::LoggedRequest& request) {
  const json::value* state = FindPath(request.body, {"status", "state"});
  return state == nullptr ? std::string_view() : FindString(*state, "phase");
}

json::value OwnStateIn(const kubesim::LoggedRequest& request) {
  const json::value* resources = FindPath(request.body, {"status", "controlledResources"});
  if (resources == nullptr || !resources->is_object()) return nullptr;
  auto state = ParseJson(FindString(*resources, kube::kControlledStateKey));
  return state.ok() && state->is_object() ? *std::move(state) : json::value(nullptr);
}

bool IsDisrupted(const json::value& pod_status) {
  const json::value* conditions = Find(pod_status, "conditions");
  if (conditions == nullptr || !conditions->is_array()) return false;
  return std::any_of(conditions->as_array().begin(), conditions->as_array().end(), [](const json::value& condition) {
    return FindString(condition, "type") == "DisruptionTarget" && FindString(condition, "status") == "True";
  });
}

std::string OwnerIn(const kubesim::LoggedRequest& request) {
  const json::value* owners = FindPath(request.body, {"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array() || owners->as_array().empty()) return "";
  return std::string(FindString(owners->as_array().front(), "uid"));
}

void ApplyEdit(const kubesim::LoggedRequest& request, std::vector<int>& replicas) {
  if (!request.body.is_array()) return;
  for (size_t t = 0; t < replicas.size(); ++t) {
    for (const json::value& change : request.body.as_array()) {
      if (FindString(change, "path") != fmt::format("/spec/tasks/{}/replicas", t)) continue;
      replicas[t] = static_cast<int>(FindInt(change, "value"));
    }
  }
}

namespace {

// What the log tells of one job up to some request.
struct Story {
  std::string phase;
  std::vector<int> replicas;
  std::vector<int> least;         // Of replicas, so far.
  std::set<std::string> targets;  // UIDs of pods that some action was about.
  int64_t version = 0;
  bool deleted = false;
  int64_t evictions = 0;  // Deletions of its pods by users, and pods that failed because Kubernetes ended them.
  int64_t first_task_successes = 0;
  std::set<std::string> failed;  // UIDs of pods.
};

struct PodStory {
  const PlannedJob* job = nullptr;  // Null: of none.
  std::string uid;                  // The newest.
  std::string phase;
  int64_t version = 0;
  int64_t creates = 0;
  int64_t user_deletions = 0;
  bool was_surplus = false;  // Some time since this one was made.
  int64_t scaled_away = 0;
  int64_t restarted = 0;  // As a target.
  int64_t collected = 0;  // Copies that went with their job: seen before the job's own deletion, it calls for another.
};

// Nothing is made or removed, and no policy carried out, without a reason that was there before.
class LogJudge {
 public:
  LogJudge(const SimSuite& suite, const std::vector<PlannedJob>& jobs, std::vector<std::string>& violations)
      : suite_(suite), violations_(violations) {
    for (const PlannedJob& job : jobs) {
      jobs_[job.uid] = &job;
      Story& story = stories_[job.uid];
      for (const PlannedTask& task : job.tasks) story.replicas.push_back(task.replicas);
      story.least = story.replicas;
      for (const std::string& pod : job.pods) pods_[{job.uid, pod}].job = &job;
    }
  }

  void Read(const kubesim::LoggedRequest& request) {
    if (!Succeeded(request)) return;
    if (request.resource == "jobs" && jobs_.contains(request.uid)) {
      if (request.subresource == "status") OnStatus(*jobs_[request.uid], request);
      if (request.verb == "patch" && request.subresource.empty()) OnEdit(request);
      if (request.verb == "delete") stories_[request.uid].deleted = true;
    }
    if (request.resource != "pods") return;
    if (request.verb == "create" && request.subresource.empty()) return OnCreate(request);
    const auto job = job_of_.find(request.uid);
    if (job == job_of_.end()) return;
    PodStory& pod = pods_[{job->second, request.name}];
    if (request.verb == "patch" && request.subresource == "status") OnPodStatus(pod, request);
    if (request.verb == "delete") OnDelete(pod, request);
  }

  const std::vector<int>& replicas(const PlannedJob& job) const { return stories_.at(job.uid).replicas; }

  // The pod succeeded, and no kill that retains nothing has followed.
  bool CountsAlthoughGone(const PlannedJob& planned, const std::string& name) const {
    const PodStory& pod = pods_.at({planned.uid, name});
    const auto job = stories_.find(planned.uid);
    if (pod.phase != "Succeeded" || job == stories_.end()) return false;
    // The last of the retries keeps what has finished.
    const int64_t emptied = pod.job->kind == JobKind::kRestarts ? std::min<int64_t>(job->second.version, 1) : 0;
    return pod.version >= emptied;
  }

 private:
  void OnCreate(const kubesim::LoggedRequest& request) {
    if (!IsOurs(request)) return;  // A plain workload's.
    const std::string uid = OwnerIn(request);
    const auto found = pods_.find({uid, request.name});
    if (found == pods_.end()) {
      violations_.push_back(fmt::format("pod {} of {} belongs to no job's spec", request.name, uid));
      return;
    }
    job_of_[request.uid] = uid;
    PodStory& pod = found->second;
    const Story& job = stories_[uid];
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
    pod.was_surplus = IsSurplus(*pod.job, job.least, request.name);  // Its maker may hear of edits late.
    // Of an older one it may be: what was sent before a kill can arrive after it.
    if (pod.version > job.version) {
      violations_.push_back(fmt::format("pod {} was made for version {} of its job, which has {}", request.name,
                                        pod.version, job.version));
    }
    // The name was free again: the copy before went with the job.
    if (job.deleted && pod.creates > 0) ++pod.collected;
    // One for each kill and each deletion by a user calls for a new one.
    const int64_t killed = job.version + pod.restarted + pod.scaled_away;
    if (++pod.creates > 1 + pod.user_deletions + pod.collected + killed) {
      violations_.push_back(fmt::format("pod {} was made {} times; {} deletions by users, {} by kills", request.name,
                                        pod.creates, pod.user_deletions, killed));
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
    Story& job = stories_[pod.job->uid];
    if (phase == "Failed") job.failed.insert(request.uid);
    if (phase == "Failed" && IsDisrupted(*status)) ++job.evictions;
    if (phase == "Succeeded" && request.name.find("-t0-") != std::string::npos) ++job.first_task_successes;
  }

  void OnDelete(PodStory& pod, const kubesim::LoggedRequest& request) {
    Story& job = stories_[pod.job->uid];
    if (request.user_agent == "user") {
      ++pod.user_deletions;
      ++job.evictions;
    }
    if (!IsOurs(request)) return;
    const bool draining = job.phase == "Completing" || job.phase == "Completed" || job.phase == "Terminating" ||
                          job.phase == "Terminated" || job.phase == "Failed" || job.phase == "Aborting" ||
                          job.phase == "Aborted";
    if (draining || job.deleted || pod.version < job.version) return;
    if (pod.was_surplus) {
      ++pod.scaled_away;
      return;
    }
    if (job.targets.contains(request.uid)) {
      ++pod.restarted;
      return;
    }
    violations_.push_back(fmt::format("pod {} of version {} was deleted while its job was '{}' of version {}",
                                      request.name, pod.version, job.phase, job.version));
  }

  static bool IsSurplus(const PlannedJob& planned, const std::vector<int>& replicas, const std::string& pod) {
    const PodPlace place = PlaceOf(planned, pod);
    return place.index >= replicas[static_cast<size_t>(place.task)];
  }

  void OnEdit(const kubesim::LoggedRequest& request) {
    const PlannedJob& planned = *jobs_[request.uid];
    Story& job = stories_[request.uid];
    ApplyEdit(request, job.replicas);
    for (size_t t = 0; t < job.least.size(); ++t) job.least[t] = std::min(job.least[t], job.replicas[t]);
    for (const std::string& name : planned.pods) {
      PodStory& pod = pods_[{planned.uid, name}];
      pod.was_surplus = pod.was_surplus || IsSurplus(planned, job.replicas, name);
    }
  }

  void OnStatus(const PlannedJob& planned, const kubesim::LoggedRequest& request) {
    Story& job = stories_[planned.uid];
    const json::value* version = FindPath(request.body, {"status", "version"});
    if (version != nullptr && version->is_int64()) {
      const int64_t next = version->as_int64();
      if (next != job.version + 1) {
        violations_.push_back(fmt::format("{}: version {} came after {}", planned.name, next, job.version));
      }
      job.version = next;
      JudgeKill(planned, job);
    }
    const json::value own = OwnStateIn(request);
    if (const json::value* targets = own.is_object() ? FindPath(own, {"kill", "targets"}) : nullptr) {
      for (const json::value& target : targets->as_array()) {
        const std::string uid(target.as_string());
        const auto of = job_of_.find(uid);
        if (of == job_of_.end() || of->second != planned.uid) {
          violations_.push_back(
              fmt::format("{} ({}): a kill is about pod {}, which is not its own", planned.name, planned.uid, uid));
        }
        job.targets.insert(uid);
      }
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
        if (job.evictions == 0) without("a deletion of its pods by a user, or an eviction");
        return;
      case JobKind::kOnFailure:
      case JobKind::kRestarts:
        if (static_cast<int64_t>(job.failed.size()) < job.version) without("a pod that failed");
        return;
      case JobKind::kOnTaskComplete:
        if (job.first_task_successes < planned.tasks[0].replicas) without("its first task complete");
        return;
      default:
        return;  // action_judge.cc, command_judge.cc
    }
  }

  const SimSuite& suite_;
  std::vector<std::string>& violations_;
  std::map<std::string, const PlannedJob*> jobs_;                 // By UID,
  std::map<std::string, Story> stories_;                          // as these.
  std::map<std::pair<std::string, std::string>, PodStory> pods_;  // By the UID of their job, and their name.
  std::map<std::string, std::string> job_of_;                     // UIDs: of a pod -> of its job.
};

bool IsOwnedBy(const json::value& object, std::string_view uid) {
  const json::value* owners = FindPath(object, {"metadata", "ownerReferences"});
  return owners != nullptr && owners->is_array() &&
         std::any_of(owners->as_array().begin(), owners->as_array().end(),
                     [&](const json::value& owner) { return FindString(owner, "uid") == uid; });
}

void JudgeLeftovers(SimSuite& suite, const std::vector<PlannedJob>& jobs, std::vector<std::string>& violations) {
  for (const PlannedJob& job : jobs) {
    if (IsLivePhase(suite.PhaseOf(job.name, job.uid))) continue;
    const auto gone = [&](std::string_view resource, const std::string& name) {
      const auto left = suite.api().Get(resource, "default", name);
      // Of a job that was made anew under the name it may be.
      if (left != nullptr && (!job.replaced || IsOwnedBy(*left, job.uid))) {
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
    const auto stored = suite.JobOf(job.name, job.uid);
    if (stored == nullptr) {
      violations.push_back(fmt::format("{} is gone", job.name));
      continue;
    }
    const std::string phase = suite.PhaseOf(job.name, job.uid);
    // A person repeats an edit whose answer was lost, perhaps after a later one: what it comes to may not be planned.
    const std::vector<int>& replicas = log.replicas(job);
    const bool is_empty = std::all_of(replicas.begin(), replicas.end(), [](int n) { return n == 0; });
    const bool rests = is_empty && IsLivePhase(phase);
    if (!rests && std::find(job.ends.begin(), job.ends.end(), phase) == job.ends.end()) {
      violations.push_back(fmt::format("{} ended as {}, not {}", job.name, phase, fmt::join(job.ends, " or ")));
    }
    std::map<std::string_view, int64_t> counts;
    int64_t gone_when_succeeded = 0;
    for (const std::string& name : job.pods) {
      auto pod = suite.api().Get("pods", "default", name);
      if (pod != nullptr && !IsOwnedBy(*pod, job.uid)) pod = nullptr;
      const PodPlace place = PlaceOf(job, name);
      const bool surplus = place.index >= log.replicas(job)[static_cast<size_t>(place.task)];
      if (IsLivePhase(phase) && (surplus ? pod != nullptr : pod == nullptr && !log.CountsAlthoughGone(job, name))) {
        violations.push_back(
            fmt::format("{} is {}: pod {} is {}", job.name, phase, name, surplus ? "too many" : "missing"));
      }
      if (surplus) continue;
      if (pod != nullptr) {
        ++counts[FindString(*FindPath(*pod, {"status"}), "phase")];
      } else if (log.CountsAlthoughGone(job, name)) {
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

void Judge(SimSuite& suite, const std::vector<PlannedJob>& jobs, absl::Time healed,
           std::vector<std::string>& violations, Probes& probes) {
  LogJudge log(suite, jobs, violations);
  for (const kubesim::LoggedRequest& request : suite.api().log()) log.Read(request);
  for (std::string& problem : suite.Problems()) violations.push_back(std::move(problem));
  JudgeWriters(suite.api(), violations);
  EnqueueNextCommand(suite.api(), jobs, violations, probes);
  JudgeActions(suite, jobs, healed, violations, probes);
  JudgeCollections(suite.api(), jobs, violations, probes);
  JudgeRecords(suite, jobs, violations);
  JudgeHistory(suite, jobs, violations);
  JudgeLeftovers(suite, jobs, violations);
  JudgeCounts(suite, jobs, log, violations);
}

}  // namespace basalt::simulation
