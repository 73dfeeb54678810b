#include "services/jobsvc/core/pods/task_facts.h"

#include <tuple>

namespace basalt::jobsvc {

namespace {

int32_t PodsOf(const TaskCounts& task) {
  return task.pending + task.running + task.succeeded + task.failed + task.unknown;
}

}  // namespace

bool HasPods(const TaskCounts& task) { return PodsOf(task) > 0; }

void TaskFacts::Reset(const std::vector<TaskShape>& tasks) {
  facts_.assign(tasks.size(), {});
  startable_.clear();
  unreported_ = 0;
  unstartable_ = 0;
  for (size_t task = 0; task < tasks.size(); ++task) {
    Fact& fact = facts_[task];
    fact.needed = tasks[task].needed;
    fact.any = tasks[task].any;
    fact.replicas = tasks[task].replicas;
    fact.dependencies = static_cast<int32_t>(tasks[task].depends_on.size());
    for (const int32_t dependency : tasks[task].depends_on) {
      if (dependency >= 0) {
        facts_[dependency].dependents.push_back(static_cast<int32_t>(task));
      } else {
        ++fact.failed_dependencies;
      }
    }
  }
  ForgetPods();
}

void TaskFacts::ForgetPods() {
  for (size_t task = 0; task < facts_.size(); ++task) {
    Follow(static_cast<int32_t>(task), {}, -facts_[task].missing);
  }
}

void TaskFacts::Follow(int32_t task, const TaskCounts& counts, int32_t more_missing) {
  Fact& fact = facts_[task];
  fact.missing += more_missing;
  fact.failed = counts.failed;
  fact.there = PodsOf(counts);
  Compare(fact, counts);
  const bool ready = counts.ready >= fact.needed;
  if (ready != fact.ready) {
    fact.ready = ready;
    for (const int32_t dependent : fact.dependents) {
      facts_[dependent].ready_dependencies += ready ? 1 : -1;
      NoteStartable(dependent);
      NoteStart(dependent);
      NoteForGood(dependent);
    }
  }
  NoteStartable(task);
  NoteStart(task);
  NoteForGood(task);
}

void TaskFacts::NoteStart(int32_t task) {
  Fact& fact = facts_[task];
  Start start = Start::kWhole;
  if (fact.dependencies > 0 && fact.there < fact.replicas) start = MayStart(task) ? Start::kBeingMade : Start::kWaits;
  if (start != fact.start) ++start_changes_;
  fact.start = start;
}

std::vector<bool> TaskFacts::AllAt(Start start) const {
  std::vector<bool> all;
  all.reserve(facts_.size());
  for (const Fact& fact : facts_) all.push_back(fact.start == start);
  return all;
}

void TaskFacts::NoteForGood(int32_t task) {
  Fact& fact = facts_[task];
  const int32_t enough = fact.any ? fact.dependencies : 1;
  fact.blocked_for_good = fact.dependencies > 0 && fact.failed_dependencies >= enough && !MayStart(task);
  const int32_t unstartable = fact.blocked_for_good ? fact.missing : 0;
  unstartable_ += unstartable - fact.unstartable;
  fact.unstartable = unstartable;
  const bool failed = fact.replicas - fact.failed - unstartable < fact.needed;
  if (failed == fact.failed_for_good) return;
  fact.failed_for_good = failed;
  // The recursion ends: a change follows the dependencies in one direction, and no task depends on itself.
  for (const int32_t dependent : fact.dependents) {
    facts_[dependent].failed_dependencies += failed ? 1 : -1;
    NoteForGood(dependent);
  }
}

void TaskFacts::Compare(Fact& fact, const TaskCounts& counts) {
  const auto shown = [](const TaskCounts& it) {
    return std::tie(it.pending, it.running, it.succeeded, it.failed, it.unknown);
  };
  const bool differs = HasPods(counts) != fact.is_reported || shown(counts) != shown(fact.reported);
  if (differs != fact.differs) unreported_ += differs ? 1 : -1;
  fact.differs = differs;
}

void TaskFacts::NoteStartable(int32_t task) {
  if (facts_[task].missing > 0 && MayStart(task)) {
    startable_.insert(task);
  } else {
    startable_.erase(task);
  }
}

bool TaskFacts::MayStart(int32_t task) const {
  const Fact& fact = facts_[task];
  return fact.any ? fact.ready_dependencies > 0 : fact.ready_dependencies == fact.dependencies;
}

void TaskFacts::ForgetReported(const std::vector<TaskCounts>& counts) {
  unreported_ = 0;
  for (size_t task = 0; task < facts_.size(); ++task) {
    Fact& fact = facts_[task];
    fact.is_reported = fact.differs = false;
    fact.reported = {};
    Compare(fact, counts[task]);
  }
}

void TaskFacts::SetReported(int32_t task, const kube::v1::PodCounts& reported, const TaskCounts& counts) {
  if (task < 0 || facts_[task].is_reported) {
    ++unreported_;
    return;
  }
  Fact& fact = facts_[task];
  fact.is_reported = true;
  fact.reported = {reported.pending(), reported.running(), reported.succeeded(), reported.failed(), reported.unknown()};
  Compare(fact, counts);
}

}  // namespace basalt::jobsvc
