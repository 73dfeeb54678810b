#include "services/jobsvc/core/explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/kube/text.h"
#include "services/jobsvc/core/explain/explain_summary.h"
#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

using job::v1::Cause;
using job::v1::JobExplanation;
using kube::v1::JobPhase;

namespace {

constexpr size_t kMostAlike = 10;
constexpr std::string_view kFreeTheName = "Delete that object, or wait until it is gone.";

// It is not known to the names of errors: an exceeded quota is Forbidden like much else.
bool IsQuota(std::string_view message) { return message.find("exceeded quota") != std::string_view::npos; }

class Explainer {
 public:
  explicit Explainer(const ExplainInput& input)
      : in_(input), job_(input.effects.job), phase_(input.effects.job.status().phase()) {}

  JobExplanation Run() {
    result_.set_namespace_(job_.meta().namespace_());
    result_.set_name(job_.meta().name());
    result_.set_uid(job_.meta().uid());
    result_.set_phase(phase_);
    result_.set_time_ms(in_.now_ms);
    if (in_.entered_by != nullptr) *result_.mutable_entered_by() = *in_.entered_by;
    AddCauses();
    result_.set_summary(SummaryOf(in_, result_));
    return std::move(result_);
  }

 private:
  Cause& Add(Cause::Kind kind, std::string subject, std::string message, std::string advice = {}) {
    // It is quoted within sentences.
    if (message.ends_with('.') && !message.ends_with("..")) message.pop_back();
    Cause& cause = *result_.add_causes();
    cause.set_kind(kind);
    cause.set_subject(std::move(subject));
    cause.set_message(std::move(message));
    cause.set_advice(std::move(advice));
    return cause;
  }

  void AddCauses() {
    if (job_.meta().deletion_ms() != 0) {
      Add(Cause::KIND_DELETION, "", "the job is being deleted",
          "What stays for long has a finalizer, or pods on a node that does not answer.")
          .set_since_ms(job_.meta().deletion_ms());
      return;
    }
    if (Rests(phase_)) AddEnd();
    if (!in_.refusal.empty() && !IsFinished(phase_)) {
      Add(Cause::KIND_SPEC, "", in_.refusal.message,
          "Correct it with kubectl edit; where the field cannot be changed, delete the job and submit it again.")
          .set_since_ms(in_.refused_since_ms);
    }
    AddStatusWrite();
    if (IsFailedCreate()) AddTrouble("FailedCreate", Cause::KIND_REFUSED, in_.retry.pods_ms);
    const std::vector<Wait> waits = WaitsOf(in_.effects);
    for (const Wait& wait : waits) {
      if (wait.kind != Cause::KIND_DEPENDENCY) AddWait(wait);
    }
    if (MakesPods(phase_)) {
      AddWaitingPods();
      AddRestartingPods();
    }
    // What keeps the pods that are waited for comes first.
    for (const Wait& wait : waits) {
      if (wait.kind == Cause::KIND_DEPENDENCY) AddWait(wait);
    }
    AddCommands();
    // What was not told beside what it holds up.
    in_.troubles.ForEach([this](const Trouble& trouble) {
      const std::string& reason = trouble.words.reason;
      if (!troubles_told_.contains(reason)) AddTrouble(reason, Cause::KIND_REFUSED, 0);
    });
    AddDeadlines();
    AddRetries();
    if (!in_.warning.empty()) Add(Cause::KIND_SPEC, "", in_.warning.message);
  }

  bool IsFailedCreate() const { return in_.troubles.has("FailedCreate") && MakesPods(phase_); }

  Cause& AddTrouble(const std::string& reason, Cause::Kind kind, int64_t until_ms, std::string subject = {},
                    std::string advice = {}) {
    troubles_told_.insert(reason);
    const Trouble& trouble = *in_.troubles.Find(reason);
    const std::string& message = trouble.words.message;
    if (trouble.kind != TroubleKind::kRefused) subject = trouble.subject;
    switch (trouble.kind) {
      case TroubleKind::kNameHeld:
        kind = Cause::KIND_NAME_HELD;
        advice = kFreeTheName;
        break;
      case TroubleKind::kLabelLost:
        advice = "Either will do; the job goes on by itself.";
        break;
      case TroubleKind::kRefused:
        if (!advice.empty()) break;
        advice =
            IsQuota(message)
                ? "Raise the ResourceQuota of the namespace, or free what it counts; it is tried again by itself."
                : "Mend what the API server names; it is tried again by itself, and at once after an edit of the job.";
        break;
    }
    Cause& cause = Add(kind, std::move(subject), message, std::move(advice));
    cause.set_since_ms(in_.troubles.SinceMs(reason));
    cause.set_until_ms(until_ms);
    return cause;
  }

  // A decision that is not in the status, and why not where that is known.
  void AddStatusWrite() {
    if (!in_.status_trouble.message.empty()) {
      Add(Cause::KIND_STATUS_WRITE, "",
          fmt::format("the API server refuses the job's status: {}", in_.status_trouble.message),
          "Nothing is done before the status is written. It is tried again by itself.")
          .set_until_ms(in_.retry.status_ms);
    }
    int told = 0;
    for (const storage::v1::PendingAction& action : in_.pending) {
      if (told++ == kMostAlike) {
        Add(Cause::KIND_STATUS_WRITE, "", fmt::format("and {} more actions", in_.pending.size() - kMostAlike));
        return;
      }
      Cause& cause =
          Add(Cause::KIND_STATUS_WRITE, action.subject(),
              fmt::format("{} because of {} is to be written to its status", action.action(), action.event()));
      cause.set_since_ms(action.due_ms() != 0 ? action.due_ms() : action.time_ms());
      cause.set_until_ms(in_.retry.status_ms);
    }
  }

  void AddCommands() {
    if (in_.troubles.has("CommandError")) AddTrouble("CommandError", Cause::KIND_COMMAND, in_.retry.commands_ms);
    for (size_t i = 0; i < in_.commands.size(); ++i) {
      if (i == kMostAlike) {
        Add(Cause::KIND_COMMAND, "", fmt::format("and {} more commands", in_.commands.size() - i));
        return;
      }
      const WaitingCommand& command = in_.commands[i];
      Add(Cause::KIND_COMMAND, fmt::format("command {}", command.name),
          fmt::format("command {} waits for its turn", command.name))
          .set_since_ms(command.since_ms);
    }
  }

  void AddEnd() {
    const std::string& name = job_.meta().name();
    const std::string& ns = job_.meta().namespace_();
    std::string message = fmt::format("the job is {}", kube::JobPhaseName(phase_));
    if (const std::string origin = OriginOf(in_); !origin.empty()) message += fmt::format(": {}", origin);
    std::string advice;
    if (phase_ == kube::v1::JOB_PHASE_ABORTED) {
      advice = fmt::format("'basaltctl job resume {} -n {}' lets it run again.", name, ns);
    } else if (phase_ == kube::v1::JOB_PHASE_FAILED && in_.failed_pods.empty()) {
      advice = fmt::format("See 'basaltctl job history {} -n {}'. {}", name, ns, Again());
    }
    Add(Cause::KIND_ENDED, "", std::move(message), std::move(advice)).set_since_ms(job_.status().last_transition_ms());
    if (phase_ != kube::v1::JOB_PHASE_COMPLETED) AddFailedPods();
    if (!IsFinished(phase_) || !in_.effects.spec.has_ttl_seconds_after_finished()) return;
    if (job_.status().last_transition_ms() == 0) return;  // Nobody knows since when it is over.
    const int64_t ttl_ms = int64_t{in_.effects.spec.ttl_seconds_after_finished()} * 1000;
    Add(Cause::KIND_DEADLINE, "", "the job will be deleted, by ttlSecondsAfterFinished")
        .set_until_ms(job_.status().last_transition_ms() + ttl_ms);
  }

  std::string Again() const {
    return HasUsedUpRetries(in_)
               ? "Correct it and submit it again, with a higher maxRetry where that is to be expected."
               : "Correct it and submit it again.";
  }

  void AddFailedPods() {
    for (size_t i = 0; i < in_.failed_pods.size(); ++i) {
      if (i == kMostAlike) {
        Add(Cause::KIND_PODS, "", fmt::format("and pods of {} more tasks failed", in_.failed_pods.size() - i));
        return;
      }
      const FailedPods& pods = in_.failed_pods[i];
      std::string message = FailureOf(pods, in_.effects.pods.tasks()[static_cast<size_t>(pods.task)]);
      if (i == 0 && HasUsedUpRetries(in_)) {
        message += fmt::format("; {} used {} of {} retries",
                               in_.restarted_by == nullptr ? "restarts" : in_.restarted_by->action(),
                               job_.status().retry_count(), in_.effects.spec.max_retry());
      }
      // One that no container has ended with a code for may have no log.
      std::string advice = fmt::format("Look at 'kubectl {} {} -n {}'.", pods.exit_code != 0 ? "logs" : "describe pod",
                                       pods.first, job_.meta().namespace_());
      if (IsFinished(phase_)) advice += ' ' + Again();
      Add(Cause::KIND_PODS, fmt::format("pod {}", pods.first), std::move(message), std::move(advice))
          .set_since_ms(pods.finished_ms);
    }
  }

  void AddWait(const Wait& wait) {
    switch (wait.kind) {
      case Cause::KIND_DELETION:
        return;
      case Cause::KIND_SPEC:
        if (in_.refusal.empty()) Add(wait.kind, wait.subject, wait.message);
        return;
      case Cause::KIND_STATUS_WRITE:
        if (in_.pending.empty()) Add(wait.kind, wait.subject, wait.message);
        return;
      case Cause::KIND_PLUGIN:
        return AddObjects(wait);
      case Cause::KIND_POD_GROUP:
        return AddGroup(wait);
      case Cause::KIND_PODS:
        // Why they have not started, or what keeps them from being made, is told for itself.
        if (in_.waiting_pods.empty() && !IsFailedCreate()) {
          Add(wait.kind, wait.subject, wait.message).set_until_ms(in_.retry.pods_ms);
        }
        return;
      case Cause::KIND_KILL:
        return AddKill(wait);
      case Cause::KIND_NAME_HELD:
        Add(wait.kind, wait.subject, wait.message, std::string(kFreeTheName));
        return;
      case Cause::KIND_DEPENDENCY:
        Add(wait.kind, wait.subject, wait.message).set_since_ms(PhaseSince());
        return;
      default:
        Add(wait.kind, wait.subject, wait.message);
    }
  }

  void AddKill(const Wait& wait) {
    if (in_.troubles.has("FailedDelete")) AddTrouble("FailedDelete", Cause::KIND_REFUSED, in_.retry.kills_ms);
    const int32_t terminating = in_.effects.pods.counts().terminating();
    std::string message = wait.message;
    if (terminating > 0) message += fmt::format(" ({})", terminating);
    Add(wait.kind, wait.subject, std::move(message),
        in_.going_pod.empty()
            ? std::string()
            : fmt::format("If they stay for long, see 'kubectl describe pod {} -n {}': its finalizers and its node.",
                          in_.going_pod, job_.meta().namespace_()))
        .set_since_ms(in_.kill_since_ms);
  }

  void AddObjects(const Wait& wait) {
    const Trouble* const claim_refused = in_.troubles.Find("PVCError");
    for (const std::string& claim : in_.missing_claims) {
      const std::string subject = fmt::format("claim {}", claim);
      std::string advice = fmt::format(
          "Create PersistentVolumeClaim {} in namespace {}, or correct what is refused; the job goes on by "
          "itself.",
          claim, job_.meta().namespace_());
      if (claim_refused != nullptr && claim_refused->subject == subject) {
        AddTrouble("PVCError", Cause::KIND_CLAIM, in_.retry.objects_ms, subject, std::move(advice));
      } else {
        Cause& cause =
            Add(Cause::KIND_CLAIM, subject, fmt::format("claim {} is not there yet", claim), std::move(advice));
        cause.set_since_ms(PhaseSince());
        cause.set_until_ms(in_.retry.objects_ms);
      }
    }
    if (in_.troubles.has("PluginError")) {
      AddTrouble("PluginError", wait.kind, in_.retry.objects_ms);
    } else if (in_.missing_claims.empty()) {
      Add(wait.kind, wait.subject, wait.message).set_until_ms(in_.retry.objects_ms);
    }
  }

  void AddQueue() {
    const std::string& name = in_.effects.spec.queue();
    const std::string trouble = QueueTrouble(name, in_.queue);
    if (trouble.empty()) return;
    const std::string subject = fmt::format("queue {}", name);
    if (in_.queue == nullptr) {
      Add(Cause::KIND_QUEUE, subject, trouble,
          "Create the queue; or submit the job again to another one, as the queue of a job cannot be changed.")
          .set_since_ms(QueueSince());
      return;
    }
    Add(Cause::KIND_QUEUE, subject, fmt::format("{}: nothing new is admitted to it", trouble),
        fmt::format("Open it (vcctl queue operate --action open --name {}), or submit the job to another one.", name))
        .set_since_ms(QueueSince());
  }

  // 0: it is not remembered.
  int64_t PhaseSince() const {
    if (in_.entered_by != nullptr) return in_.entered_by->time_ms();
    return job_.status().version() == 0 && job_.status().retry_count() == 0 ? job_.meta().creation_ms() : 0;
  }

  int64_t QueueSince() const {
    // One that is missing and was never seen has been missing for as long as the job has waited.
    if (in_.queue_since_ms == 0) return in_.queue == nullptr ? PhaseSince() : 0;
    return std::max(in_.queue_since_ms, job_.meta().creation_ms());  // The job was not there before.
  }

  void AddGangThatWaitsForItself() {
    const std::optional<int64_t> most = MostBeforeDependencies(in_.effects);
    if (!most.has_value() || gang_told_) return;
    gang_told_ = true;
    const int32_t wanted = in_.effects.spec.min_available();
    Add(Cause::KIND_DEPENDENCY, "",
        fmt::format("minAvailable is {}, and only {} can be made before the tasks with dependsOn: the scheduler waits "
                    "for the others, and they for these",
                    wanted, *most == 1 ? "1 pod" : fmt::format("{} pods", *most)),
        fmt::format("'basaltctl job scale {} -n {} --min-available {}' lets the first ones start.", job_.meta().name(),
                    job_.meta().namespace_(), *most))
        .set_since_ms(PhaseSince());
  }

  void AddGroup(const Wait& wait) {
    AddQueue();
    AddGangThatWaitsForItself();
    if (in_.troubles.has("PodGroupError")) {
      AddTrouble("PodGroupError", wait.kind, in_.retry.group_ms, wait.subject);
      return;
    }
    const kube::v1::PodGroupCondition* words = in_.group == nullptr ? nullptr : SchedulersWords(*in_.group);
    if (words != nullptr) AddUnschedulable(*words);
    Cause& cause =
        Add(wait.kind, wait.subject, wait.message,
            words == nullptr && !gang_told_ && in_.effects.group.present && !in_.effects.group.stale
                ? "Where nothing happens for long, see whether the scheduler runs and what the queue may use."
                : "");
    cause.set_until_ms(in_.retry.group_ms);
    if (in_.group != nullptr) cause.set_since_ms(in_.group->meta().creation_ms());
  }

  void AddUnschedulable(const kube::v1::PodGroupCondition& words) {
    scheduler_told_ = true;
    std::string message = words.message().empty() ? words.reason() : words.message();
    if (message.empty()) message = words.type();
    Add(Cause::KIND_UNSCHEDULABLE, fmt::format("PodGroup {}", in_.effects.group.name), std::move(message),
        gang_told_ ? std::string()
                   : fmt::format("{} pods must fit at once (minAvailable): add or free resources, or ask for less.",
                                 in_.effects.spec.min_available()))
        .set_since_ms(words.last_transition_ms());
  }

  void AddWaitingPods() {
    if (in_.waiting_pods.empty()) return;
    const bool unscheduled = std::any_of(in_.waiting_pods.begin(), in_.waiting_pods.end(),
                                         [](const WaitingPods& pods) { return !pods.on_node; });
    if (unscheduled) AddGangThatWaitsForItself();
    const kube::v1::PodGroupCondition* words = in_.group == nullptr ? nullptr : SchedulersWords(*in_.group);
    if (unscheduled && words != nullptr && !scheduler_told_) AddUnschedulable(*words);
    for (size_t i = 0; i < in_.waiting_pods.size() && i < kMostAlike; ++i) {
      const WaitingPods& pods = in_.waiting_pods[i];
      const std::string_view where = pods.on_node ? "on a node, not started" : "not on a node yet";
      std::string message = fmt::format("{} {} {}", pods.count, pods.count == 1 ? "pod is" : "pods are", where);
      if (!pods.reason.empty()) message += fmt::format(": {}", pods.reason);
      Add(Cause::KIND_PODS, fmt::format("pod {}", pods.example), std::move(message),
          fmt::format("See 'kubectl describe pod {} -n {}'.", pods.example, job_.meta().namespace_()))
          .set_since_ms(pods.since_ms);
    }
  }

  void AddRestartingPods() {
    for (size_t i = 0; i < in_.restarting_pods.size() && i < kMostAlike; ++i) {
      const RestartingPods& pods = in_.restarting_pods[i];
      Add(Cause::KIND_PODS, fmt::format("pod {}", pods.example), RestartsOf(pods),
          fmt::format("See 'kubectl logs {} --previous -n {}'.", pods.example, job_.meta().namespace_()));
    }
  }

  void AddDeadlines() {
    for (const storage::v1::PendingAction* deadline : in_.deadlines.Earliest(kMostAlike)) {
      if (!StillHolds(*deadline, in_.effects.pods)) continue;
      Cause& cause = Add(Cause::KIND_DEADLINE, deadline->subject(),
                         fmt::format("{} because of {} ({})", deadline->action(), deadline->event(), deadline->rule()));
      cause.set_since_ms(deadline->time_ms());
      cause.set_until_ms(deadline->due_ms());
    }
    if (in_.deadlines.size() > kMostAlike) {
      Add(Cause::KIND_DEADLINE, "", fmt::format("and {} later ones", in_.deadlines.size() - kMostAlike));
    }
  }

  void AddRetries() {
    const int32_t used = job_.status().retry_count();
    const int32_t most = in_.effects.spec.max_retry();
    if (used == 0 || !MakesPods(phase_)) return;
    Add(Cause::KIND_RETRIES, "",
        used + 1 >= most ? fmt::format("{} of {} retries are used: the next restart ends it as Failed", used, most)
                         : fmt::format("{} of {} retries are used", used, most));
  }

  const ExplainInput& in_;
  const kube::v1::Job& job_;
  const JobPhase phase_;
  JobExplanation result_;
  std::set<std::string> troubles_told_;  // Reasons.
  bool scheduler_told_ = false;
  bool gang_told_ = false;
};

}  // namespace

const kube::v1::PodGroupCondition* SchedulersWords(const kube::v1::PodGroup& group) {
  const kube::v1::PodGroupCondition* newest = nullptr;
  for (const auto& condition : group.conditions()) {
    if (condition.status() != "True") continue;
    if (newest == nullptr || condition.last_transition_ms() > newest->last_transition_ms()) newest = &condition;
  }
  return newest == nullptr || newest->type() == "Scheduled" ? nullptr : newest;
}

JobExplanation Explain(const ExplainInput& input) { return Explainer(input).Run(); }

}  // namespace basalt::jobsvc
