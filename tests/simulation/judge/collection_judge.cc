// Compares each pod that a deletecollection deleted with the job's state in the log. The status at the time at which
// the API server chose the pods determines which pods the kill covered.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <vector>

#include "common/kube/names.h"
#include "tests/simulation/judge/judge.h"

namespace basalt::simulation {
namespace {

struct Pod {
  std::string name;
  std::string job;  // The UID of the job.
  int64_t version = 0;
  absl::Time made;
  absl::Time finished = absl::InfiniteFuture();
  bool failed = false;  // True if the pod failed, false if it succeeded.
};

// The rules that a job's status sets from `since` on.
struct Rules {
  absl::Time since;
  int64_t version = 0;
  int64_t below = 0;         // Finished pods of versions older than this are deleted, too.
  int64_t failed_below = 0;  // Failed pods of versions older than this are deleted, too.
  std::string phase;

  bool kills_all() const { return !phase.empty() && !IsLivePhase(phase); }
  int64_t kept_from(const Pod& pod) const { return pod.failed ? std::max(below, failed_below) : below; }
};

class CollectionChecker {
 public:
  CollectionChecker(const std::vector<PlannedJob>& jobs, std::vector<std::string>& violations, Probes& probes)
      : violations_(violations), probes_(probes) {
    for (const PlannedJob& job : jobs) {
      if (!job.uid.empty()) jobs_[job.uid].name = job.name;
    }
  }

  void OnMade(const kubesim::LoggedRequest& request) {
    const json::value* annotations = FindPath(request.body, {"metadata", "annotations"});
    const std::string_view version = annotations == nullptr ? "" : FindString(*annotations, kube::kJobVersionKey);
    Pod& pod = pods_[request.uid];
    pod.name = request.name;
    pod.job = OwnerIn(request);
    std::from_chars(version.data(), version.data() + version.size(), pod.version);
    pod.made = request.time;
    made_[request.name].push_back(request.uid);
    if (const auto job = jobs_.find(pod.job); job != jobs_.end()) job->second.pods.push_back(request.uid);
  }

  void OnPodStatus(const kubesim::LoggedRequest& request) {
    const auto pod = pods_.find(request.uid);
    const json::value* status = Find(request.body, "status");
    if (pod == pods_.end() || status == nullptr) return;
    const std::string_view phase = FindString(*status, "phase");
    if (phase != "Succeeded" && phase != "Failed") return;
    if (pod->second.finished == absl::InfiniteFuture()) pod->second.failed = phase == "Failed";
    pod->second.finished = std::min(pod->second.finished, request.time);
  }

  void OnStatus(const kubesim::LoggedRequest& request) {
    const auto job = jobs_.find(request.uid);
    const json::value* status = Find(request.body, "status");
    if (job == jobs_.end() || status == nullptr) return;
    std::vector<Rules>& history = job->second.rules;
    Rules rules = history.empty() ? Rules() : history.back();
    rules.since = request.time;
    rules.version = FindInt(*status, "version", rules.version);
    if (const json::value own = OwnStateIn(request); own.is_object()) {
      rules.below = FindInt(own, "below");
      rules.failed_below = FindInt(own, "failedBelow");
    }
    if (const std::string_view phase = PhaseOf(request); !phase.empty()) rules.phase = phase;
    history.push_back(std::move(rules));
  }

  void OnCollection(const kubesim::LoggedRequest& request) {
    const std::string uid = JobIn(request.label_selector);
    const auto job = jobs_.find(uid);
    if (job == jobs_.end()) {
      violations_.push_back(fmt::format("a deletion of pods names no job of ours: '{}'", request.label_selector));
      return;
    }
    if (request.deleted.size() > 1) probes_.Hit("pods deleted in one call");
    if (!request.deleted.empty() && !Succeeded(request)) probes_.Hit("deletion in one call broken off");
    const Rules rules = RulesAt(job->second, request.chosen);
    for (const std::string& pod : job->second.pods) {
      if (IsRetained(pods_[pod], rules, request.chosen)) {
        probes_.Hit("finished pod kept by a deletion in one call");
        break;
      }
    }
    for (const kubesim::DeletedObject& deleted : request.deleted) {
      CheckPod(job->second, uid, rules, deleted, request);
      CheckName(job->second, uid, deleted.name, request);
    }
  }

 private:
  struct Job {
    std::string name;
    std::vector<Rules> rules;
    std::vector<std::string> pods;  // UIDs of the job's pods.
  };

  static std::string JobIn(std::string_view selector) {
    const std::string label = fmt::format("{}=", kube::kJobUidKey);
    const size_t at = selector.find(label);
    if (at == selector.npos) return "";
    selector.remove_prefix(at + label.size());
    return std::string(selector.substr(0, selector.find(',')));
  }

  static Rules RulesAt(const Job& job, absl::Time time) {
    Rules rules;
    for (const Rules& next : job.rules) {
      if (next.since > time) break;
      rules = next;
    }
    return rules;
  }

  // Returns true if the kill covers the version of the pod, and the pod stays only because it has finished.
  static bool IsRetained(const Pod& pod, const Rules& rules, absl::Time chosen) {
    return pod.finished < chosen && pod.version >= rules.kept_from(pod) &&
           (rules.kills_all() || pod.version < rules.version);
  }

  void CheckPod(const Job& job, const std::string& uid, const Rules& rules, const kubesim::DeletedObject& deleted,
                const kubesim::LoggedRequest& request) {
    const auto wrong = [&](const std::string& why) {
      violations_.push_back(fmt::format("{} ({}, {} of version {}): pod {} ({}) was deleted with others, {}", job.name,
                                        uid, rules.phase, rules.version, deleted.name, deleted.uid, why));
    };
    const auto found = pods_.find(deleted.uid);
    if (found == pods_.end()) return wrong("and nobody is known to have made it");
    const Pod& pod = found->second;
    if (pod.job != uid) return wrong(fmt::format("and belongs to {}", pod.job));
    // No pod is created under such a name until the call is over.
    if (pod.made > request.chosen) return wrong("and was made after they had been chosen");
    if (pod.finished < request.chosen) {  // A pod that finished at that very moment ended by its deletion.
      if (pod.version >= rules.kept_from(pod)) {
        wrong(fmt::format("had finished in version {} and was to stay", pod.version));
      }
    } else if (!rules.kills_all() && pod.version >= rules.version) {
      wrong(fmt::format("is of version {} and was to stay", pod.version));
    }
  }

  // Checks that no job created a pod of that name during the call, because the call deletes by name.
  void CheckName(const Job& job, const std::string& uid, const std::string& name,
                 const kubesim::LoggedRequest& request) {
    for (const std::string& made : made_[name]) {
      const Pod& pod = pods_[made];
      if (pod.made <= request.chosen || pod.made >= request.time) continue;
      violations_.push_back(fmt::format("{} ({}): pod {} ({}) was made while one of that name was deleted with others",
                                        job.name, uid, name, made));
    }
  }

  std::vector<std::string>& violations_;
  Probes& probes_;
  std::map<std::string, std::vector<std::string>> made_;  // UIDs of pods, by name.
  std::map<std::string, Job> jobs_;                       // By UID.
  std::map<std::string, Pod> pods_;                       // By UID.
};

}  // namespace

void JudgeCollections(const kubesim::ApiServer& api, const std::vector<PlannedJob>& jobs,
                      std::vector<std::string>& violations, Probes& probes) {
  CollectionChecker checker(jobs, violations, probes);
  for (const kubesim::LoggedRequest& request : api.log()) {
    // A call that was broken off may have deleted pods, too.
    const bool collection =
        request.resource == "pods" && request.verb == "deletecollection" && !request.dropped_request;
    if (collection && (Succeeded(request) || !request.deleted.empty())) checker.OnCollection(request);
    if (!Succeeded(request)) continue;
    if (request.resource == "jobs" && request.subresource == "status") checker.OnStatus(request);
    if (request.resource != "pods") continue;
    if (request.verb == "create" && request.subresource.empty()) checker.OnMade(request);
    if (request.verb == "patch" && request.subresource == "status") checker.OnPodStatus(request);
  }
}

}  // namespace basalt::simulation
