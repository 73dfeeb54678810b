#include "services/jobsvc/core/effects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <utility>

#include "common/kube/names.h"
#include "services/jobsvc/core/state_machine.h"

namespace basalt::jobsvc {

namespace {

constexpr size_t kMostWaits = 20;
constexpr size_t kMostWords = 512;  // Bytes after which WhyNeverStarted() stops.

// Visits the names behind `after`, then those up to it, until `visit` returns false.
template <typename Visit>
void Around(const std::set<std::string>& names, const std::string& after, Visit visit) {
  const auto from = names.upper_bound(after);
  for (auto it = from; it != names.end(); ++it) {
    if (!visit(*it)) return;
  }
  for (auto it = names.begin(); it != from; ++it) {
    if (!visit(*it)) return;
  }
}

}  // namespace

bool DependencyMet(const kube::v1::JobSpec& spec, int32_t task, const PodSet& pods, std::string* why_not) {
  if (pods.facts().MayStart(task)) return true;
  if (why_not == nullptr) return false;
  const TaskShape& shape = pods.shape().tasks()[task];
  if (pods.facts().CanNeverStart(task)) {
    const auto failed = std::find_if(shape.depends_on.begin(), shape.depends_on.end(),
                                     [&](int32_t on) { return pods.facts().HasFailedForGood(on); });
    const auto position = static_cast<int>(failed - shape.depends_on.begin());
    *why_not = fmt::format("task {} can never start: task {}, which it depends on, has failed for good", shape.name,
                           spec.tasks(task).depends_on().names(position));
    return false;
  }
  if (shape.any) {
    *why_not = fmt::format("task {} waits for any task it depends on", shape.name);
    return false;
  }
  const auto& names = spec.tasks(task).depends_on().names();
  for (size_t i = 0; i < shape.depends_on.size(); ++i) {
    if (pods.facts().IsReady(shape.depends_on[i])) continue;
    *why_not = fmt::format("task {} waits for task {}", shape.name, names.Get(static_cast<int>(i)));
    break;
  }
  return false;
}

std::string WhyNeverStarted(const kube::v1::JobSpec& spec, const PodSet& pods) {
  std::string all;
  for (int i = 0; i < spec.tasks_size() && pods.facts().unstartable() > 0; ++i) {
    std::string why;
    if (!pods.facts().MissesPods(i) || !pods.facts().CanNeverStart(i) || DependencyMet(spec, i, pods, &why)) continue;
    if (all.size() > kMostWords) return all + "; …";
    if (!all.empty()) all += "; ";
    all += why;
  }
  return all;
}

bool WaitsForQueue(kube::v1::JobPhase phase, const GroupView& group) { return MakesPods(phase) && !group.admits(); }

bool IsStaleGroup(const kube::v1::PodGroup& group, const kube::v1::JobStatus& status,
                  const ControlledState& persisted) {
  if (persisted.kill && persisted.kill->group_uid == group.meta().uid()) return true;
  for (const auto& annotation : group.meta().annotations()) {
    if (annotation.key() != kube::kBasaltVersionKey) continue;
    int32_t version = std::numeric_limits<int32_t>::max();
    const std::string& text = annotation.value();
    std::from_chars(text.data(), text.data() + text.size(), version);
    return version < status.version();
  }
  return false;  // A group without our annotation is upstream's: it is adopted as current.
}

std::optional<PodCollection> NextPodCollection(const EffectInput& in) {
  // The deletion would include the other owner's pod: no selector can name the owner.
  if (in.pods.removals().HasForeignLabelled()) return std::nullopt;
  const PodRules& rules = in.pods.rules();
  // The selectors follow the rules of the kill: live pods always match, failed ones if the kill was a resume, and all
  // finished ones only if the kill retained nothing.
  std::set<int32_t> versions[3];
  size_t count[3] = {0, 0, 0};
  for (const std::string& name : in.pods.removals().to_delete()) {
    const PodEntry* pod = in.pods.Find(name);
    if (pod == nullptr || !pod->has(kPodLabelled)) continue;
    const size_t retain = pod->version < rules.delete_terminal_below ? 2
                          : pod->version < rules.delete_failed_below ? 1
                                                                     : 0;
    if (retain == 0 && (pod->terminal() || (pod->version >= rules.version && !rules.kill_all))) continue;
    if (retain == 1 && pod->phase == kube::v1::POD_PHASE_SUCCEEDED) continue;
    versions[retain].insert(pod->version);
    ++count[retain];
  }
  const auto which = std::max_element(std::begin(count), std::end(count)) - std::begin(count);
  if (count[which] < 2) return std::nullopt;
  PodCollection collection;
  // The selector contains the job's name, too: a pod of another owner without that label was never shown to us.
  collection.label_selector =
      fmt::format("{}={},{}={},{} in ({})", kube::kJobNameKey, in.job.meta().name(), kube::kJobUidKey,
                  in.job.meta().uid(), kube::kBasaltVersionKey, fmt::join(versions[which], ","));
  if (which == 0) collection.field_selector = "status.phase!=Succeeded,status.phase!=Failed";
  if (which == 1) collection.field_selector = "status.phase!=Succeeded";
  collection.pods = count[which];
  return collection;
}

std::vector<PodEffect> NextPodEffects(const EffectInput& in) {
  std::vector<PodEffect> effects;
  const auto phase = in.job.status().phase();
  if (in.job.meta().deletion_ms() != 0 || phase == kube::v1::JOB_PHASE_UNSPECIFIED) return effects;
  const auto add = [&](PodEffect::Kind kind, const std::string& name) {
    const PodEntry* pod = in.pods.Find(name);
    if (pod != nullptr) effects.push_back({kind, name, in.pods.shape().PlaceOf(name), pod->uid, pod->resource_version});
  };
  const auto has_room = [&] { return effects.size() < in.limit; };
  Around(in.pods.removals().to_mark(), in.kills_after, [&](const std::string& name) {
    if (in.kills_blocked || !has_room()) return false;
    if (!in.busy.contains(name)) add(PodEffect::Kind::kMark, name);
    return true;
  });
  const bool marks_left = !in.pods.removals().to_mark().empty();
  Around(in.pods.removals().to_delete(), in.kills_after, [&](const std::string& name) {
    if (in.kills_blocked || in.deletes_held || !has_room()) return false;
    const PodEntry* pod = in.pods.Find(name);
    if (in.busy.contains(name) || pod == nullptr || (marks_left && pod->has(kPodOutOfSync))) return true;
    add(PodEffect::Kind::kDelete, name);
    return true;
  });
  if (in.blocked || in.collecting || in.action_waits || marks_left || !MakesPods(phase) || !in.group.admits() ||
      !in.objects_ready)
    return effects;
  const auto& missing = in.pods.missing();
  std::vector<bool> is_refused(in.refused_tasks.empty() ? 0 : in.pods.shape().tasks().size());
  for (const int32_t task : in.refused_tasks) {
    if (static_cast<size_t>(task) < is_refused.size()) is_refused[task] = true;
  }
  for (const int32_t task : in.pods.facts().startable()) {
    if (!has_room() || task >= in.spec.tasks_size()) break;
    if (!is_refused.empty() && is_refused[task]) continue;
    for (auto it = missing.FirstOf(task); it != missing.end() && it->task == task && has_room(); ++it) {
      std::string name = in.pods.shape().NameOf(*it);
      if (!in.busy.contains(name)) effects.push_back({PodEffect::Kind::kCreate, std::move(name), *it, {}, 0});
    }
  }
  if (!in.probes) return effects;
  for (const int32_t task : in.refused_tasks) {
    if (!has_room()) break;
    if (task >= in.spec.tasks_size() || !DependencyMet(in.spec, task, in.pods)) continue;
    for (auto it = missing.FirstOf(task); it != missing.end() && it->task == task; ++it) {
      std::string name = in.pods.shape().NameOf(*it);
      if (in.busy.contains(name)) continue;
      effects.push_back({PodEffect::Kind::kCreate, std::move(name), *it, {}, 0});
      break;
    }
  }
  return effects;
}

std::vector<Wait> WaitsOf(const EffectInput& in) {
  using Cause = job::v1::Cause;
  std::vector<Wait> waits;
  const auto add = [&](Cause::Kind kind, std::string subject, std::string message) {
    waits.push_back({kind, std::move(subject), std::move(message)});
  };
  const auto phase = in.job.status().phase();
  if (in.job.meta().deletion_ms() != 0) {
    add(Cause::KIND_DELETION, "", "the job is being deleted");
    return waits;
  }
  const PodSet& pods = in.pods;
  const bool pods_go = !pods.removals().empty() || pods.counts().terminating() > 0;
  if (!MakesPods(phase)) {
    if (IsDraining(phase) || pods_go) add(Cause::KIND_KILL, "", "its pods are still going");
    return waits;
  }
  if (pods_go) {
    add(Cause::KIND_KILL, "", "pods that have to go are still there");
  } else if (in.collecting) {
    add(Cause::KIND_KILL, "", "the deletion of pods that have to go is not confirmed yet");
  }
  if (pods.missing().empty() && pods.held().empty()) {
    if (const int32_t pending = pods.counts().pending(); pending > 0) {
      add(Cause::KIND_PODS, "", fmt::format("{} {} not started", pending, pending == 1 ? "pod has" : "pods have"));
    }
    return waits;
  }
  if (in.blocked) {
    add(Cause::KIND_SPEC, "", in.job.status().message());
    return waits;
  }
  if (in.action_waits) add(Cause::KIND_STATUS_WRITE, "", "an action is to be written to its status first");
  if (!in.objects_ready) add(Cause::KIND_PLUGIN, "", "the objects of its plugins are being made");
  const std::string group = fmt::format("PodGroup {}", in.group.name);
  if (!in.group.present) {
    add(Cause::KIND_POD_GROUP, group, "its PodGroup is being made");
  } else if (in.group.stale) {
    add(Cause::KIND_POD_GROUP, group, "its PodGroup of the run before is still going");
  } else if (!in.group.admits()) {
    add(Cause::KIND_POD_GROUP, group, "the scheduler has not admitted its PodGroup yet");
  }
  for (const std::string& name : pods.held()) {
    if (waits.size() >= kMostWaits) return waits;
    add(Cause::KIND_NAME_HELD, fmt::format("pod {}", name),
        fmt::format("the name {} is held by a pod {}", name,
                    pods.Find(name)->has(kPodOrphan) ? "that nobody owns" : "of another owner"));
  }
  for (int i = 0; i < in.spec.tasks_size() && waits.size() < kMostWaits; ++i) {
    std::string why;
    if (pods.facts().MissesPods(i) && !DependencyMet(in.spec, i, pods, &why)) {
      add(Cause::KIND_DEPENDENCY, fmt::format("task {}", in.spec.tasks(i).name()), std::move(why));
    }
  }
  if (waits.empty()) add(Cause::KIND_PODS, "", "pods are being made");
  return waits;
}

std::string QueueProblem(std::string_view name, const QueueView& view) {
  if (view.queue == nullptr) return fmt::format("queue {} does not exist", name);
  const std::string& state = view.queue->state();
  if (state != "Open") return fmt::format("queue {} is {}", name, state.empty() ? "not opened yet" : state);
  // The root queue is refused for its name.
  if (view.has_children && name != kube::kRootQueue) return fmt::format("queue {} has queues below it", name);
  return {};
}

std::string WaitingFor(const EffectInput& input, const QueueView& queue) {
  std::vector<Wait> waits = WaitsOf(input);
  if (waits.empty()) return {};
  if (waits.front().kind == job::v1::Cause::KIND_POD_GROUP) {
    if (std::string problem = QueueProblem(input.spec.queue(), queue); !problem.empty()) return problem;
  }
  return std::move(waits.front().message);
}

}  // namespace basalt::jobsvc
