// Compares each action in a job's status with the facts in the log: pods that were created, ran, failed, succeeded or
// were deleted. The expected answers of policies are computed here a second time, from the plan.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "common/base/status.h"
#include "tests/e2e/writer.h"
#include "tests/simulation/judge/judge.h"

namespace basalt::simulation {
namespace {

// Times in statuses have whole seconds, and the API server's clock is known to within one second.
constexpr absl::Duration kClock = absl::Milliseconds(2'100);
// This is longer than the longest back-off with a lost write after it.
constexpr absl::Duration kSlack = absl::Seconds(45);
// The longest time from a change of a pod until its job's owner hears of the change, once no fault remains.
constexpr absl::Duration kHearing = absl::Seconds(10);

struct Pod {
  std::string name;
  std::string uid;
  int64_t version = 0;
  absl::Time made;
  absl::Time left_pending = absl::InfiniteFuture();
  absl::Time ran = absl::InfiniteFuture();
  absl::Time failed = absl::InfiniteFuture();
  absl::Time ended = absl::InfiniteFuture();  // When the container ended, which the node may have reported later.
  absl::Time succeeded = absl::InfiniteFuture();
  bool is_disrupted = false;                    // Kubernetes has set the condition DisruptionTarget.
  absl::Time evicted = absl::InfiniteFuture();  // When the pod failed after that condition.
  absl::Time deleted = absl::InfiniteFuture();  // When a user deleted the pod.
  absl::Time taken = absl::InfiniteFuture();    // When the job's owner deleted the pod.
  absl::Time gone = absl::InfiniteFuture();
  int exit_code = 0;
  std::set<std::string> used;  // Events of the pod that an action has answered.
};

// The task was complete from `time` on, by a pod of that version.
struct Completion {
  absl::Time time;
  int64_t version = 0;
  bool used = false;
};

struct Answer {
  std::string action;
  absl::Duration timeout;
};

class ActionChecker {
 public:
  ActionChecker(const SimSuite& suite, const PlannedJob& job, absl::Time healed, std::vector<std::string>& violations,
                Probes& probes)
      : suite_(suite), job_(job), healed_(healed), violations_(violations), probes_(probes) {
    for (const PlannedTask& task : job.tasks) replicas_.push_back(task.replicas);
    completions_.resize(job.tasks.size());
  }

  void OnMade(const kubesim::LoggedRequest& request) {
    const json::value* annotations = FindPath(request.body, {"metadata", "annotations"});
    Pod pod;
    pod.name = request.name;
    pod.uid = request.uid;
    pod.version = std::atoll(
        std::string(annotations == nullptr ? "" : FindString(*annotations, "volcano.sh/job-version")).c_str());
    pod.made = request.time;
    pods_[request.name].push_back(std::move(pod));
  }

  void OnPodStatus(const kubesim::LoggedRequest& request) {
    Pod* pod = Find(request.name, request.uid);
    const json::value* status = FindPath(request.body, {"status"});
    if (pod == nullptr || status == nullptr) return;
    const std::string_view phase = FindString(*status, "phase");
    pod->is_disrupted = pod->is_disrupted || IsDisrupted(*status);
    if (phase == "Pending" || phase.empty()) return;
    pod->left_pending = std::min(pod->left_pending, request.time);
    if (phase == "Running") pod->ran = std::min(pod->ran, request.time);
    const json::value* containers = FindPath(*status, {"containerStatuses"});
    const bool has_containers = containers != nullptr && containers->is_array() && !containers->as_array().empty();
    const json::value* ended =
        has_containers ? FindPath(containers->as_array().front(), {"state", "terminated"}) : nullptr;
    if (pod->ended == absl::InfiniteFuture()) pod->ended = EndOf(ended, *pod, request.time);
    if (phase == "Failed" && pod->is_disrupted && pod->failed == absl::InfiniteFuture()) {
      probes_.Hit("pod failed by an eviction");
      pod->evicted = std::min(pod->evicted, request.time);
    } else if (phase == "Failed" && pod->failed == absl::InfiniteFuture()) {
      pod->failed = request.time;
      if (ended != nullptr) pod->exit_code = static_cast<int>(FindInt(*ended, "exitCode"));
    }
    if (phase == "Succeeded" && pod->succeeded == absl::InfiniteFuture()) {
      pod->succeeded = request.time;
      NoteCompletion(*pod);
    }
  }

  void OnDeleted(const kubesim::LoggedRequest& request) {
    Pod* pod = Find(request.name, request.uid);
    if (pod == nullptr) return;
    absl::Time& time = request.user_agent == "user" ? pod->deleted : pod->taken;
    if (request.user_agent == "user" || e2e::IsByOwner(request.user_agent)) time = std::min(time, request.time);
  }

  void OnEdit(const kubesim::LoggedRequest& request) { ApplyEdit(request, replicas_); }
  void OnJobDeleted() { deleted_ = true; }

  void OnStatus(const kubesim::LoggedRequest& request) {
    const json::value* status = FindPath(request.body, {"status"});
    if (status == nullptr) return;
    const int64_t version = FindInt(*status, "version", version_);
    const int64_t retries = FindInt(*status, "retryCount", retries_);
    const json::value own = OwnStateIn(request);
    if (version < version_ || retries < retries_) {
      Violation("version {} and retry count {} fell to {} and {}", version_, retries_, version, retries);
    }
    // This covers the first status, too: a job must not start with the retries of an older job of its name.
    if (retries > retries_ + MostRestarts(own)) Violation("retry count {} came after {}", retries, retries_);
    const int64_t commits = own.is_object() ? FindInt(own, "seq") : 0;
    if (own.is_object() && commits > commits_ + 1) Violation("its commit {} came after {}", commits, commits_);
    if (own.is_object()) commits_ = commits;
    if (own.is_object()) {
      const json::value* kill = basalt::Find(own, "kill");
      const std::string text = kill == nullptr ? std::string() : ToText(*kill);
      const bool acts = kill != nullptr && FindString(*kill, "action") != "SyncJob" &&
                        (version != version_ || retries != retries_ || text != kill_);
      if (acts) OnAction(*kill, version != version_, request.time);
      kill_ = text;
      // A Command drops the waiting deadlines, even if it has no other effect (job spec 7.5).
      const std::string command(FindString(own, "command"));
      const bool is_ordered = !command.empty() && command != command_;
      command_ = command;
      OnDeadlines(own, request, acts || is_ordered);
    }
    version_ = version;
    retries_ = retries;
    if (const std::string_view next = PhaseOf(request); !next.empty()) phase_ = next;
  }

  void End(absl::Time now) {
    if (deleted_ || !IsLivePhase(phase_)) return;
    for (const auto& [id, due] : stored_) {
      if (due + kSlack < now) Violation("the deadline {} has passed, and nothing was done", id);
    }
  }

 private:
  template <typename... Args>
  void Violation(fmt::format_string<Args...> format, Args&&... args) {
    violations_.push_back(job_.name + ": " + fmt::format(format, std::forward<Args>(args)...));
  }

  Pod* Find(const std::string& name, const std::string& uid) {
    const auto found = pods_.find(name);
    if (found == pods_.end()) return nullptr;
    for (Pod& pod : found->second) {
      if (pod.uid == uid) return &pod;
    }
    return nullptr;
  }

  // Returns the time in the status. A node reports late if its request was lost or refused. Returns `reported` if the
  // node's clock is off.
  static absl::Time EndOf(const json::value* terminated, const Pod& pod, absl::Time reported) {
    if (terminated == nullptr) return absl::InfiniteFuture();
    absl::Time ended;
    const bool is_time =
        absl::ParseTime(absl::RFC3339_full, ToAbsl(FindString(*terminated, "finishedAt")), &ended, nullptr);
    return is_time && ended + kClock > pod.made ? std::min(ended, reported) : reported;
  }

  void NoteCompletion(const Pod& last) {
    absl::Time time = last.ended;
    const PodPlace place = PlaceOf(job_, last.name);
    const auto task = static_cast<size_t>(place.task);
    for (int i = 0; i < replicas_[task]; ++i) {
      const auto found = pods_.find(fmt::format("{}-t{}-{}", job_.name, task, i));
      if (found == pods_.end() || found->second.back().succeeded == absl::InfiniteFuture()) return;
      time = std::max(time, found->second.back().ended);
    }
    completions_[task].push_back({time, last.version});
  }

  // Returns the answer of the policies to the event (job spec 6).
  std::optional<Answer> AnswerTo(std::string_view event, int task, int exit_code) const {
    for (const int scope : {task, -1}) {
      for (const PlannedPolicy& policy : job_.policies) {
        if (policy.task != scope) continue;
        const bool by_event = !policy.event.empty() && policy.event == event;
        const bool by_code = policy.event.empty() && event == "PodFailed" && policy.exit_code == exit_code;
        if (by_event || by_code) return Answer{policy.action, policy.timeout};
      }
    }
    return std::nullopt;
  }

  void OnAction(const json::value& kill, bool full, absl::Time now) {
    const std::string action(FindString(kill, "action"));
    const std::string cause(FindString(kill, "cause"));
    const size_t space = cause.find(' ');
    const std::string event = cause.substr(0, space);
    const std::string subject = space == std::string::npos ? std::string() : cause.substr(space + 1);
    if (!phase_.empty() && !IsLivePhase(phase_) && action != "ResumeJob") {
      Violation("{} ({}) was carried out in phase {}", action, cause, phase_);
    }
    if (full != !IsPart(action)) Violation("{} ({}) {} a full kill", action, cause, full ? "was" : "was not");
    if (event == "CommandIssued") return;  // command_judge.cc checks this cause.
    if (event == "TaskCompleted") return OnTaskAction(action, subject, now);
    OnPodAction(event, action, subject.substr(subject.find(' ') + 1), kill, now);
  }

  // Returns the number of restarts that one write may carry out. Restarts of tasks and pods go together, and each has
  // another pod as its cause.
  int64_t MostRestarts(const json::value& own) const {
    const json::value* kill = own.is_object() ? basalt::Find(own, "kill") : nullptr;
    const bool of_parts = kill != nullptr && IsPart(FindString(*kill, "action")) &&
                          !FindString(*kill, "cause").starts_with("CommandIssued");
    return of_parts ? std::max<int64_t>(1, static_cast<int64_t>(pods_.size())) : 1;
  }

  static bool IsPart(std::string_view action) { return action == "RestartPod" || action == "RestartTask"; }

  void OnTaskAction(const std::string& action, const std::string& subject, absl::Time now) {
    const int task = subject.starts_with("task t") ? std::atoi(subject.c_str() + 6) : -1;
    const std::optional<Answer> answer = AnswerTo("TaskCompleted", task, 0);
    if (!answer || answer->action != action)
      return Violation("{} is no answer to TaskCompleted of {}", action, subject);
    Completion* fact = nullptr;
    for (Completion& completion : completions_[static_cast<size_t>(task)]) {
      if (!completion.used && completion.version == version_ && IsTime(completion.time, *answer, now)) {
        fact = &completion;
      }
    }
    if (fact == nullptr) {
      return Violation("{} for TaskCompleted of {} in version {}, which nothing called for at {}", action, subject,
                       version_, absl::FormatTime(now));
    }
    fact->used = true;
    CheckLateness(fact->time, *answer, now, action);
    if (answer->timeout > absl::ZeroDuration()) probes_.Hit("deadline of a task");
  }

  // Returns true if `now` is not too early for the answer to this fact.
  static bool IsTime(absl::Time fact, const Answer& answer, absl::Time now) {
    if (answer.timeout == absl::ZeroDuration()) return fact <= now;
    return fact <= now && fact + answer.timeout - kClock <= now;
  }

  void CheckLateness(absl::Time fact, const Answer& answer, absl::Time now, std::string_view action) {
    if (answer.timeout == absl::ZeroDuration()) return;
    probes_.Hit("deadline carried out");
    if (std::max(fact + answer.timeout, healed_) + kSlack < now) {
      Violation("{} came {} after its deadline", action, absl::FormatDuration(now - fact - answer.timeout));
    }
  }

  absl::Time FactOf(std::string_view event, const Pod& pod, absl::Time now) const {
    if (event == "PodPending") return pod.made;
    if (event == "PodFailed") return std::min(pod.failed, pod.ended);
    if (event != "PodEvicted") return absl::InfiniteFuture();
    // If a disk has lost its last writes and the job has grown again, no record shows that the pod was surplus. The
    // owner's own deletion then looks like an eviction.
    if (pod.evicted <= pod.deleted && pod.evicted <= now) return pod.evicted;
    const bool may_forget = suite_.disk_lost("jobsvc") && !suite_.NothingForgotten(pod.taken, now);
    if (pod.deleted == absl::InfiniteFuture() && may_forget) return pod.taken;
    // A pod that succeeded before its deletion was not evicted (W19), unless the success was forgotten before the job's
    // owner heard of it.
    const bool is_done = pod.succeeded <= pod.deleted && suite_.NothingForgotten(pod.succeeded, now);
    return is_done ? absl::InfiniteFuture() : pod.deleted;
  }

  void OnPodAction(const std::string& event, const std::string& action, const std::string& name,
                   const json::value& kill, absl::Time now) {
    const int task = PlaceOf(job_, name).task;
    Pod* fact = nullptr;
    std::optional<Answer> answer;
    for (Pod& pod : pods_[name]) {
      const std::optional<Answer> called_for = AnswerTo(event, task, event == "PodFailed" ? pod.exit_code : 0);
      if (!called_for || called_for->action != action || pod.version != version_ || pod.used.contains(event)) continue;
      if (!IsTime(FactOf(event, pod, now), *called_for, now)) continue;
      fact = &pod;
      answer = called_for;
    }
    if (fact == nullptr) {
      return Violation("{} for {} of pod {} in version {}, which nothing called for at {}", action, event, name,
                       version_, absl::FormatTime(now));
    }
    fact->used.insert(event);
    if (action == "RestartPod") CheckTarget(event, name, kill);
    if (answer->timeout == absl::ZeroDuration()) return;
    CheckLateness(FactOf(event, *fact, now), *answer, now, action);
    CheckMoot(event, *fact, now);
    probes_.Hit(event == "PodPending"  ? "deadline of a pending pod"
                : event == "PodFailed" ? "deadline of a failed pod"
                                       : "deadline of an evicted pod");
  }

  // Checks that the cause of the deadline did not end long before: the owner must hear of the end in time.
  void CheckMoot(std::string_view event, const Pod& pod, absl::Time now) {
    absl::Time moot = absl::InfiniteFuture();
    if (event == "PodPending") {
      moot = pod.left_pending;
    } else {
      for (const Pod& next : pods_[pod.name]) {
        if (next.made > pod.made) moot = std::min(moot, next.ran);
      }
    }
    if (moot == absl::InfiniteFuture() || std::max(moot, healed_) + kHearing >= now) return;
    Violation("the deadline of {} of pod {} was kept, although all was well {} before", event, pod.name,
              absl::FormatDuration(now - moot));
  }

  void CheckTarget(std::string_view event, const std::string& name, const json::value& kill) {
    const json::value* targets = basalt::Find(kill, "targets");
    if (targets == nullptr) return;
    const bool named = std::any_of(targets->as_array().begin(), targets->as_array().end(), [&](const json::value& uid) {
      return Find(name, std::string(uid.as_string())) != nullptr;
    });
    // An evicted pod is gone. Its kill has only the targets that the kill before has left, if any.
    if (event == "PodEvicted") return;
    if (!named && !targets->as_array().empty())
      Violation("RestartPod of {} because of {} is about other pods: {}", name, event, ToText(kill));
  }

  // Checks that a deadline leaves the status only with a reason.
  void OnDeadlines(const json::value& own, const kubesim::LoggedRequest& request, bool acts) {
    std::map<std::string, absl::Time> now_stored;
    const json::value* deadlines = basalt::Find(own, "deadlines");
    if (deadlines != nullptr && deadlines->is_array()) {
      for (const json::value& deadline : deadlines->as_array()) {
        const absl::Time due = absl::FromUnixMillis(FindInt(deadline, "due"));
        now_stored[fmt::format("{} {} {}", FindString(deadline, "event"), FindString(deadline, "pod"),
                               FindString(deadline, "uid"))] = due;
        const std::string pod(FindString(deadline, "pod"));
        if (!pod.empty() && Find(pod, std::string(FindString(deadline, "uid"))) == nullptr) {
          Violation("a deadline is kept of pod {} ({}), which is not its own", pod, FindString(deadline, "uid"));
        }
        probes_.Hit("deadline kept in the status");
      }
    }
    const std::string_view phase = PhaseOf(request);
    for (const auto& [id, due] : stored_) {
      const bool still = now_stored.contains(id);
      if (acts && still) outlived_.insert(id);  // OnAction() checks whether it is carried out once more.
      if (still || acts || outlived_.contains(id) || IsFinishedPhase(phase.empty() ? phase_ : phase)) continue;
      if (IsMoot(id, request.time)) {
        probes_.Hit("deadline cancelled");
        continue;
      }
      // A due deadline may find that its target is already being restarted.
      if (due <= request.time + kClock && MayFindNothing()) continue;
      Violation("the deadline {} was forgotten", id);
    }
    stored_ = std::move(now_stored);
  }

  bool MayFindNothing() const {
    return !IsLivePhase(phase_) || std::any_of(job_.policies.begin(), job_.policies.end(),
                                               [](const PlannedPolicy& policy) { return IsPart(policy.action); });
  }

  // Returns true if a later pod of that name has run.
  bool IsMoot(const std::string& id, absl::Time now) {
    const std::string uid = id.substr(id.rfind(' ') + 1);
    for (const auto& [name, pods] : pods_) {
      bool later = false;
      for (const Pod& pod : pods) {
        if (later && pod.ran <= now) return true;
        later = later || pod.uid == uid;
      }
    }
    return false;
  }

  const SimSuite& suite_;
  const PlannedJob& job_;
  const absl::Time healed_;
  std::vector<std::string>& violations_;
  Probes& probes_;
  std::vector<int> replicas_;
  std::map<std::string, std::vector<Pod>> pods_;  // Pods by name, in the order of their creation.
  std::vector<std::vector<Completion>> completions_;
  std::map<std::string, absl::Time> stored_;
  std::set<std::string> outlived_;  // Deadlines that stayed in the status over some action.
  std::string phase_;
  std::string kill_;
  std::string command_;  // UID of the last Command that was carried out.
  int64_t version_ = 0;
  int64_t retries_ = 0;
  int64_t commits_ = 0;
  bool deleted_ = false;
};

}  // namespace

void JudgeActions(SimSuite& suite, const std::vector<PlannedJob>& jobs, absl::Time healed,
                  std::vector<std::string>& violations, Probes& probes) {
  std::map<std::string, ActionChecker> checkers;  // By the job's UID.
  std::map<std::string, ActionChecker*> of_pod;   // By the pod's UID.
  for (const PlannedJob& job : jobs) checkers.try_emplace(job.uid, suite, job, healed, violations, probes);
  absl::Time now;
  for (const kubesim::LoggedRequest& request : suite.api().log()) {
    now = request.time;
    if (!Succeeded(request)) continue;
    if (request.resource == "jobs") {
      const auto checker = checkers.find(request.uid);
      if (checker == checkers.end()) continue;
      if (request.subresource == "status") checker->second.OnStatus(request);
      if (request.subresource.empty() && request.verb == "patch") checker->second.OnEdit(request);
      if (request.verb == "delete") checker->second.OnJobDeleted();
    }
    if (request.resource != "pods") continue;
    if (request.verb == "create" && request.subresource.empty()) {
      const auto owner = checkers.find(OwnerIn(request));
      if (owner == checkers.end()) continue;
      of_pod[request.uid] = &owner->second;
      owner->second.OnMade(request);
    }
    const auto checker = of_pod.find(request.uid);
    if (checker == of_pod.end()) continue;
    if (request.verb == "patch" && request.subresource == "status") checker->second->OnPodStatus(request);
    if (request.verb == "delete") checker->second->OnDeleted(request);
  }
  for (auto& [uid, checker] : checkers) checker.End(now);
}

}  // namespace basalt::simulation
