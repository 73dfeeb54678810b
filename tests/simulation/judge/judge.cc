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

// The state of one job after some request of the log.
struct Story {
  std::string phase;
  std::vector<int> replicas;
  std::vector<int> least;         // The least replicas of each task so far.
  std::set<std::string> targets;  // UIDs of the targets of all actions.
  int64_t version = 0;
  bool deleted = false;
  int64_t evictions = 0;  // Deletions of the job's pods by users, and failures of pods that Kubernetes disrupted.
  int64_t first_task_successes = 0;
  std::set<std::string> failed;  // UIDs of pods that failed.
};

struct PodStory {
  const PlannedJob* job = nullptr;  // Null if the pod belongs to no job.
  std::string uid;                  // UID of the newest pod of that name.
  std::string phase;
  int64_t version = 0;
  int64_t creates = 0;
  int64_t user_deletions = 0;
  bool was_surplus = false;  // True if the pod was surplus at some time since its creation.
  int64_t scaled_away = 0;
  int64_t restarted = 0;  // Deletions as the target of an action.
  // Copies that went with their job. An owner that observes such a deletion before the job's own deletion creates
  // another copy.
  int64_t collected = 0;
};

// Checks that no pod is created or deleted, and no policy carried out, without a reason that came before.
class LogChecker {
 public:
  LogChecker(const SimSuite& suite, const std::vector<PlannedJob>& jobs, std::vector<std::string>& violations)
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

  // Returns true if the pod succeeded and no kill without retained pods has followed.
  bool CountsAlthoughGone(const PlannedJob& planned, const std::string& name) const {
    const PodStory& pod = pods_.at({planned.uid, name});
    const auto job = stories_.find(planned.uid);
    if (pod.phase != "Succeeded" || job == stories_.end()) return false;
    // The kill after the last retry retains finished pods.
    const int64_t emptied = pod.job->kind == JobKind::kRestarts ? std::min<int64_t>(job->second.version, 1) : 0;
    return pod.version >= emptied;
  }

 private:
  void OnCreate(const kubesim::LoggedRequest& request) {
    if (!IsOurs(request)) return;  // The pod belongs to a plain workload.
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
      CheckSeenFailure(pod, request);
    }
    pod.uid = request.uid;
    // The replica that creates the pod may hear of edits late.
    pod.was_surplus = IsSurplus(*pod.job, job.least, request.name);
    // The version may be older: a create that was sent before a kill may arrive after the kill.
    if (pod.version > job.version) {
      violations_.push_back(fmt::format("pod {} was made for version {} of its job, which has {}", request.name,
                                        pod.version, job.version));
    }
    // The name was free again: the copy before went with the job.
    if (job.deleted && pod.creates > 0) ++pod.collected;
    // Each kill and each deletion by a user calls for one new copy.
    const int64_t killed = job.version + pod.restarted + pod.scaled_away;
    if (++pod.creates > 1 + pod.user_deletions + pod.collected + killed) {
      violations_.push_back(fmt::format("pod {} was made {} times; {} deletions by users, {} by kills", request.name,
                                        pod.creates, pod.user_deletions, killed));
    }
  }

  // Checks that no pod replaces one whose failure was observed until the job's action on the failure is carried out.
  void CheckSeenFailure(const PodStory& before, const kubesim::LoggedRequest& request) {
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
      CheckKill(planned, job);
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

  // Checks the facts behind a full kill, which gave the job a new version.
  void CheckKill(const PlannedJob& planned, const Story& job) {
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
        return;  // action_judge.cc and command_judge.cc check the other kinds.
    }
  }

  const SimSuite& suite_;
  std::vector<std::string>& violations_;
  std::map<std::string, const PlannedJob*> jobs_;                 // By the UID of the job.
  std::map<std::string, Story> stories_;                          // By the UID of the job.
  std::map<std::pair<std::string, std::string>, PodStory> pods_;  // By the UID of the job and the name of the pod.
  std::map<std::string, std::string> job_of_;                     // UIDs of jobs, by the UIDs of their pods.
};

bool IsOwnedBy(const json::value& object, std::string_view uid) {
  const json::value* owners = FindPath(object, {"metadata", "ownerReferences"});
  return owners != nullptr && owners->is_array() &&
         std::any_of(owners->as_array().begin(), owners->as_array().end(),
                     [&](const json::value& owner) { return FindString(owner, "uid") == uid; });
}

void CheckLeftovers(SimSuite& suite, const std::vector<PlannedJob>& jobs, std::vector<std::string>& violations) {
  for (const PlannedJob& job : jobs) {
    if (IsLivePhase(suite.PhaseOf(job.name, job.uid))) continue;
    const auto gone = [&](std::string_view resource, const std::string& name) {
      const auto left = suite.api().Get(resource, "default", name);
      // The object may belong to a job that was created later under the same name.
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

// Checks that counters, records and Kubernetes agree once the suite is quiet.
void CheckCounts(SimSuite& suite, const std::vector<PlannedJob>& jobs, const LogChecker& log,
                 std::vector<std::string>& violations) {
  for (const PlannedJob& job : jobs) {
    if (job.deleted) continue;
    const auto stored = suite.JobOf(job.name, job.uid);
    if (stored == nullptr) {
      violations.push_back(fmt::format("{} is gone", job.name));
      continue;
    }
    const std::string phase = suite.PhaseOf(job.name, job.uid);
    // A user repeats an edit whose answer was lost, perhaps after a later edit. The replicas in the end may therefore
    // differ from the plan.
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
      // A pod that succeeded and was deleted counts as succeeded if its owner observed the success.
      const int64_t least = counts[pod_phase];
      const int64_t most = least + (pod_phase == std::string_view("Succeeded") ? gone_when_succeeded : 0);
      const int64_t reported = FindInt(*status, field);
      if (reported < least || reported > most) {
        violations.push_back(fmt::format("{}: status.{} is {}, there are {}", job.name, field, reported, least));
      }
    }
  }
}

}  // namespace

void Judge(SimSuite& suite, const std::vector<PlannedJob>& jobs, absl::Time healed,
           std::vector<std::string>& violations, Probes& probes) {
  LogChecker log(suite, jobs, violations);
  for (const kubesim::LoggedRequest& request : suite.api().log()) log.Read(request);
  for (std::string& problem : suite.Problems()) violations.push_back(std::move(problem));
  JudgeWriters(suite.api(), violations);
  CheckCommands(suite.api(), jobs, violations, probes);
  JudgeActions(suite, jobs, healed, violations, probes);
  JudgeCollections(suite.api(), jobs, violations, probes);
  JudgeRecords(suite, jobs, violations);
  JudgeHistory(suite, jobs, violations);
  CheckLeftovers(suite, jobs, violations);
  CheckCounts(suite, jobs, log, violations);
}

}  // namespace basalt::simulation
