// Target: the life of one job by the decisions of jobsvc/core alone. Pods start, end, are removed and hold each other's
// names; people edit the job and send commands; status writes are lost, and so is the state that only a disk holds.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/jobsvc/control/actions/pending_actions.h"
#include "services/jobsvc/core/decide/decide.h"
#include "services/jobsvc/core/decide/kill.h"
#include "services/jobsvc/core/decide/sync.h"
#include "services/jobsvc/core/effects.h"
#include "services/jobsvc/core/events/deadlines.h"
#include "services/jobsvc/core/pods/status_facts.h"
#include "services/jobsvc/core/spec/compiled_job.h"
#include "tests/fuzz/input.h"

namespace basalt::jobsvc {
namespace {

using fuzz::Input;
using fuzz::Require;
using kube::v1::Pod;

constexpr std::string_view kTemplate = R"({"spec":{"containers":[{"name":"c","image":"i"}]}})";
constexpr std::string_view kState =
    R"({"seq":7,"nonce":"n","kill":{"action":"RestartTask","version":1,"targets":["u1"]},"belowTerminal":1,)"
    R"("done":{"t0":"0-1"},"answered":["u2"]})";
constexpr std::string_view kWords[] = {"t0",
                                       "t1",
                                       "any",
                                       "all",
                                       "*",
                                       "PodFailed",
                                       "PodEvicted",
                                       "PodPending",
                                       "PodRunning",
                                       "Unknown",
                                       "TaskCompleted",
                                       "TaskFailed",
                                       "OutOfSync",
                                       "CommandIssued",
                                       "SyncJob",
                                       "AbortJob",
                                       "RestartJob",
                                       "RestartTask",
                                       "RestartPod",
                                       "RestartPartition",
                                       "TerminateJob",
                                       "CompleteJob",
                                       "ResumeJob",
                                       "EnqueueJob",
                                       "svc",
                                       "ssh",
                                       "env",
                                       "mpi",
                                       "ray",
                                       "pytorch",
                                       "tensorflow",
                                       "hcclrank",
                                       "basalt",
                                       "default",
                                       "volcano",
                                       "InvalidJob",
                                       "Evicted",
                                       "",
                                       "j-t0-0",
                                       "j-t0-1",
                                       "j-t1-0",
                                       "j-t0-9",
                                       "u1",
                                       "u2",
                                       kTemplate,
                                       kState};

constexpr int32_t kMostReplicas = 12;

class Life {
 public:
  explicit Life(Input& input) : input_(input) {
    job_.mutable_meta()->set_namespace_("default");
    job_.mutable_meta()->set_name("j");
    job_.mutable_meta()->set_uid("job-uid");
    job_.mutable_meta()->set_generation(1);
    for (const char* const name : {"t0", "t1"}) {
      kube::v1::TaskSpec& task = *job_.mutable_spec()->add_tasks();
      task.set_name(name);
      task.set_replicas(2);
      task.set_template_json(std::string(kTemplate));
    }
    if (input_.OneIn(4)) input_.Change(*job_.mutable_status());
    Edit();
    LoseDisk();
  }

  void Run() {
    while (!input_.empty()) {
      Happen();
      Fire();
      Pass();
      Act();
    }
    ComeToRest();
  }

 private:
  // ---- changes from outside ----

  void Happen() {
    switch (input_.Below(16)) {
      case 0:
        return Edit();
      case 1:
        return LoseDisk();
      case 2:
        return Command();
      case 3:
        now_ms_ += input_.OneIn(2) ? 1000 * input_.Below(1000) : input_.Below(10);
        return;
      case 4:
        group_.present = input_.OneIn(2);
        group_.uid = fmt::format("g{}", input_.Below(3));
        group_.phase = input_.OneIn(2) ? "Running" : "Pending";
        return;
      case 5:
        return Observe(ForeignPod());
      case 6:
        objects_ready_ = input_.OneIn(2);
        return;
      case 7:
        return Raise({.kind = kEventUnknown, .time_ms = now_ms_});
      case 8:
      case 9:
        return Remove();
      default:
        if (world_.empty()) return;
        return Observe(ChangedPod());
    }
  }

  Pod& AnyPod() { return std::next(world_.begin(), input_.Below(static_cast<int>(world_.size())))->second; }

  Pod ForeignPod() {
    Pod pod = input_.Make<Pod>();
    pod.set_namespace_("default");
    pod.set_name(fmt::format("j-t{}-{}", input_.Below(3), input_.Below(4)));
    if (world_.contains(pod.name())) return world_[pod.name()];
    pod.set_uid(fmt::format("foreign-{}", ++uids_));
    return pod;
  }

  Pod ChangedPod() {
    Pod pod = AnyPod();
    switch (input_.Below(6)) {
      case 0:
        pod.set_deletion_ms(now_ms_);
        break;
      case 1:
        pod.set_restarts(static_cast<int32_t>(input_.Number()));
        break;
      case 2:
        input_.Change(pod);
        break;
      default:
        pod.set_phase(static_cast<kube::v1::PodPhase>(input_.Below(kube::v1::PodPhase_ARRAYSIZE)));
        pod.set_exit_code(input_.Below(3));
        pod.set_all_ready(input_.OneIn(2));
        pod.set_finished_ms(now_ms_);
    }
    return pod;
  }

  void Edit() {
    job_.mutable_meta()->set_generation(job_.meta().generation() + 1);
    input_.Change(*job_.mutable_spec());
    // Large numbers of pods only cost time. Numbers above the job's limit stay, since they are refused.
    for (kube::v1::TaskSpec& task : *job_.mutable_spec()->mutable_tasks()) {
      if (task.replicas() > kMostReplicas && task.replicas() <= kMaxPodsPerJob) task.set_replicas(kMostReplicas);
    }
    CompiledSpec compiled = CompileSpec(job_, [](std::string_view) { return 0; });
    if (compiled.invalid() && job_.status().phase() != kube::v1::JOB_PHASE_UNSPECIFIED) {
      compiled.shape = compiled_ ? pods_.shape().tasks() : ShapeWithPods(std::move(compiled.shape));
    }
    compiled_ = std::move(compiled);
    TakeShape();
  }

  std::vector<TaskShape> ShapeWithPods(std::vector<TaskShape> shape) const {
    std::vector<std::string_view> names;
    for (const auto& [name, pod] : world_) names.push_back(name);
    return GrowTo(std::move(shape), job_.meta().name(), names);
  }

  void TakeShape() {
    pods_.SetTasks(compiled_->shape);
    pods_.SetRules(RulesOf(job_.status(), persisted_));
    for (size_t task = 0; task < compiled_->shape.size(); ++task) {
      const auto done = persisted_.done.find(compiled_->shape[task].name);
      if (done == persisted_.done.end()) continue;
      for (const int32_t index : done->second) pods_.SetSucceededGone({static_cast<int32_t>(task), index}, true);
    }
    pods_.SetReported(job_.status(), persisted_.done);
    CheckPods();
  }

  // Continues as another process would, with only the state that Kubernetes holds.
  void LoseDisk() {
    persisted_ = ReadControlledState(job_.status());
    sequence_ = persisted_.sequence;
    pending_.Clear();
    answered_.clear();
    deadlines_.Reset();
    for (const storage::v1::PendingAction& deadline : persisted_.deadlines) deadlines_.Add(deadline);
    pods_.Reset(job_.meta().name(), job_.meta().uid());
    TakeShape();
    for (const auto& [name, pod] : std::map(world_)) Observe(pod);
  }

  void Command() {
    storage::v1::PendingAction& command = *pending_.Add();
    input_.Change(command);
    command.set_event(std::string(kEventCommandIssued));
    command.set_action(std::string(ActionName(static_cast<Action>(input_.Below(kActionCount)))));
    command.set_version(-1);
    command.set_index(-1);
    command.clear_due_ms();
    command.set_command_uid(fmt::format("command-{}", ++uids_));
    if (command.pod().empty() && !world_.empty()) command.set_pod(AnyPod().name());
  }

  // ---- events and pending actions ----

  void Observe(Pod pod) {
    pod.set_namespace_("default");
    pod.set_resource_version(++version_);
    const auto known = world_.find(pod.name());
    if (known != world_.end() && known->second.uid() != pod.uid()) RemovePod(known->second);
    if (pod.uid().empty() || pod.name().empty()) return;
    world_[pod.name()] = pod;
    const PodChange change = pods_.Apply(pod);
    CheckPods();
    RaiseAll(change, pod, GoneReason::kNotGone);
  }

  void Remove() {
    if (!world_.empty()) RemovePod(AnyPod());
  }
  void RemovePod(const Pod& gone) {
    const Pod pod = gone;
    world_.erase(pod.name());
    const PodChange change = pods_.Remove(pod.name(), pod.uid());
    CheckPods();
    RaiseAll(change, pod, input_.OneIn(4) ? GoneReason::kLeft : GoneReason::kDeleted);
  }

  void RaiseAll(const PodChange& change, const Pod& pod, GoneReason gone) {
    if (!change.place.indexed() || change.place.task >= compiled_->spec.tasks_size()) return;
    const kube::v1::TaskSpec& task = compiled_->spec.tasks(change.place.task);
    const PodFacts facts{.deletion_ms = pod.deletion_ms(),
                         .finished_ms = pod.finished_ms(),
                         .creation_ms = pod.creation_ms(),
                         .reason = pod.reason(),
                         .last_exit_code = pod.last_exit_code(),
                         .disruption_reason = pod.disruption_reason(),
                         .disruption_ms = pod.disruption_ms()};
    const auto most = task.has_max_retry() ? std::optional<int32_t>(task.max_retry()) : std::nullopt;
    for (const JobEvent& event :
         EventsOf(change, facts, gone, job_.status().version(), task.replicas(), most, now_ms_)) {
      Raise(event);
      if (event.kind == kEventPodEvicted) pods_.AddFlag(pod.name(), kPodEvictionSeen);
    }
  }

  void Raise(const JobEvent& event) {
    const kube::v1::JobSpec& spec = compiled_->spec;
    deadlines_.Cancel(event, event.task >= 0 ? std::string_view(spec.tasks(event.task).name()) : "");
    const PolicyMatch match = ApplyPolicies(spec, event);
    if (match.action.empty()) return;
    if (event.kind != kEventUnknown) pods_.AddFlag(event.pod, kPodAnswered);
    storage::v1::PendingAction action = ActionOf(event, match, spec);
    if (action.due_ms() == 0) {
      *pending_.Add() = std::move(action);
    } else if (!IsFinished(job_.status().phase())) {
      deadlines_.Add(std::move(action));
    }
  }

  void Fire() {
    deadlines_.SetVersion(job_.status().version());
    if (IsFinished(job_.status().phase())) deadlines_.Reset();
    for (storage::v1::PendingAction& due : deadlines_.TakeDue(now_ms_, pods_)) *pending_.Add() = std::move(due);
  }

  // ---- decisions ----

  DecideInput Facts() const {
    return {.job = job_,
            .spec = compiled_->spec,
            .persisted = persisted_,
            .pods = pods_,
            .pending = pending_,
            .deadlines = deadlines_,
            .group_uid = group_.uid,
            .words = compiled_->invalid() ? compiled_->refusal : compiled_->warning,
            .invalid = compiled_->invalid(),
            .objects = persisted_.objects,
            .wanted_objects = compiled_->objects,
            .markers = markers_,
            .unreported_answered = answered_,
            .last_sequence = sequence_,
            .now_ms = now_ms_,
            .draw_nonce = [] { return std::string("nonce"); }};
  }

  void Pass() {
    Decision decision = Decided();
    // A lost write is decided again.
    if (decision.write != Decision::Write::kNone && !input_.OneIn(8)) Commit(decision);
  }

  Decision Decided() {
    const DecideInput facts = Facts();
    Decision decision = Decide(facts);
    Check(decision, Decide(facts));
    for (const std::string& uid : decision.answered) AddAnswered(uid, answered_);
    pending_.DeleteSubrange(0, decision.dropped);
    return decision;
  }

  void Check(const Decision& decision, const Decision& again) const {
    const kube::v1::JobStatus& before = job_.status();
    const kube::v1::JobStatus& after = decision.status;
    Require(decision.write == again.write && after.SerializeAsString() == again.status.SerializeAsString() &&
                decision.history.SerializeAsString() == again.history.SerializeAsString(),
            "a decision follows from what is there");
    Require(decision.dropped >= 0 && decision.consumed >= 0 && decision.dropped + decision.consumed <= pending_.size(),
            "a decision settles actions that wait");
    if (decision.write == Decision::Write::kNone) return;
    Require(job_.meta().deletion_ms() == 0, "a job that is being deleted is left alone");
    Require(!IsFinished(before.phase()) || after.phase() == before.phase(), "a finished job stays as it is finished");
    Require(after.phase() != kube::v1::JOB_PHASE_UNSPECIFIED, "a status has a phase");
    Require(after.version() >= before.version() && after.version() - before.version() <= 1,
            "a decision begins one version at most");
    Require(after.retry_count() >= before.retry_count(), "no retry is given back");
    Require(decision.sequence > persisted_.sequence && decision.sequence > sequence_,
            "a commit has a number of its own");
    const ControlledState kept = ReadControlledState(after);
    Require(kept.sequence == decision.sequence && kept.nonce == decision.nonce, "a status tells of its commit");
    Require(!decision.kills || kept.kill.has_value(), "a status tells of its kill");
    if (!decision.has_history) return;
    Require(decision.history.from_phase() == before.phase() && decision.history.to_phase() == after.phase(),
            "history tells of the phases");
  }

  void Commit(const Decision& decision) {
    *job_.mutable_status() = decision.status;
    persisted_ = ReadControlledState(job_.status());
    sequence_ = decision.sequence;
    answered_.clear();
    const std::vector<storage::v1::PendingAction> done(pending_.begin(), pending_.begin() + decision.consumed);
    pending_.DeleteSubrange(0, decision.consumed);
    CarriedOut carried_out;
    for (const storage::v1::PendingAction& action : done) {
      if (carried_out.Add(action)) deadlines_.Clear(action);
    }
    const auto is_cleared = [&carried_out](const storage::v1::PendingAction& action) {
      return action.due_ms() != 0 && carried_out.ThatClears(action) != nullptr;
    };
    pending_.erase(std::remove_if(pending_.begin(), pending_.end(), is_cleared), pending_.end());
    for (const PodIndex& place : decision.again) pods_.SetSucceededGone(place, false);
    pods_.SetRules(RulesOf(job_.status(), persisted_));
    pods_.SetReported(job_.status(), persisted_.done);
    CheckPods();
  }

  // ---- effects ----

  EffectInput View() const {
    return {.job = job_,
            .spec = compiled_->spec,
            .pods = pods_,
            .group = group_,
            .blocked = compiled_->invalid(),
            .action_waits = !pending_.empty(),
            .objects_ready = objects_ready_,
            .busy = busy_};
  }

  void Act() {
    group_.stale = persisted_.kill && !group_.uid.empty() && persisted_.kill->group_uid == group_.uid;
    const EffectInput view = View();
    CheckCollection(view);
    WaitsOf(view);
    const std::vector<PodEffect> effects = NextPodEffects(view);
    Require(effects.size() <= view.limit, "no more is done at once than may be");
    std::set<std::string> names;
    for (const PodEffect& effect : effects) {
      Require(names.insert(effect.name).second, "one thing is done about a name at once");
      const auto pod = world_.find(effect.name);
      if (effect.kind == PodEffect::Kind::kCreate) {
        Require(pod == world_.end(), "no pod is made under a name that is held");
        Require(MakesPods(job_.status().phase()) && !compiled_->invalid() && group_.admits(), "a pod is made in time");
        if (!input_.OneIn(8)) Observe(NewPod(effect));
        continue;
      }
      Require(pod != world_.end() && pod->second.uid() == effect.uid, "an effect is about a pod that is there");
      Require(pod->second.owner_uid() == job_.meta().uid(), "no pod of another owner is touched");
      if (input_.OneIn(8)) continue;
      Pod changed = pod->second;
      if (effect.kind == PodEffect::Kind::kMark) {
        changed.set_out_of_sync(true);
        Observe(changed);
      } else if (input_.OneIn(2)) {
        changed.set_deletion_ms(now_ms_);
        Observe(changed);
      } else {
        RemovePod(changed);
      }
    }
  }

  Pod NewPod(const PodEffect& effect) {
    Pod pod;
    pod.set_name(effect.name);
    pod.set_uid(fmt::format("u{}", ++uids_));
    pod.set_owner_uid(job_.meta().uid());
    pod.set_job_uid_label(job_.meta().uid());
    pod.set_task(compiled_->spec.tasks(effect.place.task).name());
    pod.set_index(effect.place.index);
    pod.set_job_version(job_.status().version());
    pod.set_creation_ms(now_ms_);
    pod.set_phase(kube::v1::POD_PHASE_PENDING);
    return pod;
  }

  // Checks that a bulk deletion deletes only pods that would also be deleted one by one.
  void CheckCollection(const EffectInput& view) const {
    const std::optional<PodCollection> collection = NextPodCollection(view);
    if (!collection) return;
    const bool spares_succeeded = collection->field_selector.find("Succeeded") != std::string::npos;
    const bool spares_failed = collection->field_selector.find("Failed") != std::string::npos;
    const std::string& selector = collection->label_selector;
    const size_t open = selector.find('(');
    Require(open != std::string::npos, "a collection names versions");
    const std::string versions = "," + selector.substr(open + 1, selector.size() - open - 2) + ",";
    pods_.ForEach([&](const std::string& name, PodIndex, const PodEntry& pod) {
      if (!pod.has(kPodLabelled) || versions.find(fmt::format(",{},", pod.version)) == std::string::npos) return;
      if (spares_succeeded && pod.phase == kube::v1::POD_PHASE_SUCCEEDED) return;
      if (spares_failed && pod.phase == kube::v1::POD_PHASE_FAILED) return;
      const bool goes = pod.has(kPodTerminating) || pods_.removals().to_delete().contains(name) ||
                        pods_.removals().to_mark().contains(name);
      Require(goes, "a collection takes no pod that stays");
    });
  }

  // ---- invariants ----

  void CheckPods() const {
    const auto [counts, tasks] = pods_.Recount();
    Require(SameCounts(counts, pods_.counts()) && tasks == pods_.task_counts(), "counters are what a recount tells");
    Require(counts.pending() >= 0 && counts.running() >= 0 && counts.succeeded() >= 0 && counts.failed() >= 0 &&
                counts.unknown() >= 0 && counts.terminating() >= 0,
            "no count is below 0");
    const int64_t all = int64_t{counts.pending()} + counts.running() + counts.succeeded() + counts.failed() +
                        counts.unknown() + static_cast<int64_t>(pods_.missing().size());
    Require(all <= pods_.shape().total(), "no more pods are counted than there are places");
  }

  // Without further changes, decides on the job until there is nothing to write.
  void ComeToRest() {
    Fire();
    for (int most = 8 + 2 * pending_.size(); true; --most) {
      Require(most > 0, "decisions of a job come to rest");
      const Decision decision = Decided();
      if (decision.write == Decision::Write::kNone && decision.dropped == 0) break;
      if (decision.write != Decision::Write::kNone) Commit(decision);
      Fire();
    }
    if (job_.meta().deletion_ms() != 0 || WasFinishedByOther(Facts())) return;
    Require(SameCounts(job_.status().counts(), pods_.counts()), "the status of a job at rest has its counts");
  }

  Input& input_;
  kube::v1::Job job_;
  std::optional<CompiledSpec> compiled_;
  ControlledState persisted_;
  int64_t sequence_ = 0;
  std::map<std::string, Pod> world_;
  PodSet pods_;
  PendingActions pending_;
  DeadlineSet deadlines_;
  std::vector<std::string> answered_;
  GroupView group_{.present = true, .uid = "g0", .phase = "Running"};
  bool objects_ready_ = true;
  const std::set<std::string> busy_;
  const std::map<std::string, std::string> markers_;
  int64_t now_ms_ = 1'000'000'000;
  int64_t version_ = 0;
  int uids_ = 0;
};

}  // namespace
}  // namespace basalt::jobsvc

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  basalt::fuzz::Input input(data, size, basalt::jobsvc::kWords);
  basalt::jobsvc::Life(input).Run();
  return 0;
}
