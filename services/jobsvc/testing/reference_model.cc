#include "services/jobsvc/testing/reference_model.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace basalt::jobsvc::testing {

using kube::v1::JobPhase;

namespace {

bool IsLive(JobPhase phase) { return phase == kube::v1::JOB_PHASE_RUNNING || phase == kube::v1::JOB_PHASE_RESTARTING; }

int CountOf(const std::string& cells, std::string_view of) {
  return static_cast<int>(
      std::count_if(cells.begin(), cells.end(), [&](char cell) { return of.find(cell) != of.npos; }));
}

template <typename Policies>
std::optional<std::string> Answer(const Policies& policies, std::string_view event, int exit_code) {
  for (const kube::v1::LifecyclePolicy& policy : policies) {
    const bool by_event = std::find(policy.events().begin(), policy.events().end(), event) != policy.events().end();
    if (by_event || (exit_code != 0 && policy.has_exit_code() && policy.exit_code() == exit_code)) {
      return policy.action();
    }
  }
  return std::nullopt;
}

}  // namespace

ReferenceModel::ReferenceModel(const kube::v1::JobSpec& spec) : spec_(spec) {
  World world;
  for (const kube::v1::TaskSpec& task : spec.tasks()) world.cells.emplace_back(task.replicas(), kAlive);
  Run(world);
  worlds_.insert(std::move(world));
}

std::set<JobPhase> ReferenceModel::Phases() const {
  std::set<JobPhase> phases;
  for (const World& world : worlds_) phases.insert(world.phase);
  return phases;
}

void ReferenceModel::Happen(const std::vector<Fact>& facts, bool may_lose) {
  std::set<World> ends;
  for (const World& world : worlds_) {
    std::vector<Fact> about;  // Where this world and the true one differ, some facts are about nothing.
    size_t evictions = 0;
    for (const Fact& fact : facts) {
      const std::string& cells = world.cells[static_cast<size_t>(fact.task)];
      if (cells[static_cast<size_t>(fact.index)] != kAlive) continue;
      about.push_back(fact);
      if (fact.what == Fact::What::kEviction) ++evictions;
    }
    for (size_t lost = 0; lost < size_t{1} << (may_lose ? evictions : 0); ++lost) {
      std::vector<Fact> noticed;
      size_t eviction = 0;
      for (const Fact& fact : about) {
        const bool is_lost = fact.what == Fact::What::kEviction && (lost >> eviction++ & 1) != 0;
        if (!is_lost) noticed.push_back(fact);
      }
      Deliver(world, noticed, ends);
    }
  }
  worlds_ = std::move(ends);
}

void ReferenceModel::Deliver(const World& world, const std::vector<Fact>& left, std::set<World>& ends) const {
  if (left.empty() || !IsLive(world.phase)) {
    World end = world;
    Rest(end);
    Run(end);
    ends.insert(std::move(end));
    return;
  }
  // Every batch that may come next.
  for (size_t chosen = 1; chosen < size_t{1} << left.size(); ++chosen) {
    std::vector<Fact> batch;
    std::vector<Fact> later;
    for (size_t i = 0; i < left.size(); ++i) ((chosen >> i & 1) != 0 ? batch : later).push_back(left[i]);
    std::vector<size_t> order(batch.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    do {
      std::vector<Fact> ordered;
      for (const size_t i : order) ordered.push_back(batch[i]);
      DeliverBatch(world, ordered, later, ends);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

void ReferenceModel::DeliverBatch(World world, const std::vector<Fact>& batch, const std::vector<Fact>& left,
                                  std::set<World>& ends) const {
  // Counters first (W11), events as they are found.
  std::vector<Event> events;
  for (const Fact& fact : batch) {
    char& cell = world.cells[static_cast<size_t>(fact.task)][static_cast<size_t>(fact.index)];
    switch (fact.what) {
      case Fact::What::kSuccess:
        cell = kDone;
        if (IsComplete(world, fact.task)) events.push_back({"TaskCompleted", fact});
        break;
      case Fact::What::kFailure:
        cell = kBroken;
        events.push_back({"PodFailed", fact});
        break;
      case Fact::What::kEviction:
        cell = kGone;
        events.push_back({"PodEvicted", fact});
        break;
    }
  }
  std::set<std::pair<int, int>> killed;
  bool acted = false;
  bool keeps = false;
  for (const Event& event : events) {
    const std::string action = ActionFor(event);
    if (action.empty() || !IsLive(world.phase)) continue;
    const std::set<std::pair<int, int>> before = killed;
    const bool is_part = action == "RestartPod" || action == "RestartTask";
    // What was killed already is not killed again; what a full kill has followed is of an older version.
    if (killed.contains({-1, -1}) || (is_part && killed.contains({event.fact.task, event.fact.index}))) continue;
    Carry(action, event, world, killed, keeps);
    acted = acted || killed != before;
  }
  for (std::string& cells : world.cells) std::replace(cells.begin(), cells.end(), char{kGone}, char{kAlive});
  if (!acted) {
    Run(world);
    return Deliver(world, left, ends);
  }
  // What had ended unseen and was killed: gone with the kill, or found in time by one that keeps it.
  std::vector<Fact> over;
  std::vector<Fact> still;
  for (const Fact& fact : left) {
    const bool is_killed = killed.contains({-1, -1}) || killed.contains({fact.task, fact.index});
    (is_killed ? over : still).push_back(fact);
  }
  for (size_t kept = 0; kept < size_t{1} << (keeps ? over.size() : 0); ++kept) {
    World next = world;
    for (size_t i = 0; i < over.size(); ++i) {
      if ((kept >> i & 1) == 0 || over[i].what == Fact::What::kEviction) continue;
      next.cells[static_cast<size_t>(over[i].task)][static_cast<size_t>(over[i].index)] =
          over[i].what == Fact::What::kSuccess ? kKeptDone : kKeptBroken;
    }
    // The next batch may find it restarting still.
    Deliver(next, still, ends);
    if (still.empty()) continue;
    Rest(next);
    Run(next);
    Deliver(next, still, ends);
  }
}

std::string ReferenceModel::ActionFor(const Event& event) const {
  const int exit_code = event.kind == "PodFailed" ? event.fact.exit_code : 0;
  if (auto action = Answer(spec_.tasks(event.fact.task).policies(), event.kind, exit_code)) return *action;
  return Answer(spec_.policies(), event.kind, exit_code).value_or("");
}

void ReferenceModel::Carry(const std::string& action, const Event& event, World& world,
                           std::set<std::pair<int, int>>& killed, bool& keeps) const {
  const auto task = static_cast<size_t>(event.fact.task);
  const bool restarting = world.phase == kube::v1::JOB_PHASE_RESTARTING;
  // W32: of what is gone nothing is restarted, unless an eviction was the last of it.
  const bool is_gone = CountOf(world.cells[task], "g") == static_cast<int>(world.cells[task].size());
  if (action == "RestartTask" && is_gone && event.kind != "PodEvicted") return;
  if (action == "RestartPod" || action == "RestartTask") {
    for (int i = 0; i < static_cast<int>(world.cells[task].size()); ++i) {
      if (action == "RestartPod" && i != event.fact.index) continue;
      world.cells[task][static_cast<size_t>(i)] = kAlive;
      killed.insert({event.fact.task, i});
    }
    if (!restarting) ++world.retries;
    world.phase = kube::v1::JOB_PHASE_RESTARTING;
    return;
  }
  killed.insert({-1, -1});
  keeps = action != "RestartJob" || world.retries >= spec_.max_retry() - 1;
  for (std::string& cells : world.cells) {
    for (char& cell : cells) {
      if (!keeps || cell == kAlive || cell == kGone) {
        cell = kAlive;
      } else {
        cell = cell == kDone || cell == kKeptDone ? kKeptDone : kKeptBroken;
      }
    }
  }
  if (action == "AbortJob") world.phase = kube::v1::JOB_PHASE_ABORTED;
  if (action == "TerminateJob") world.phase = kube::v1::JOB_PHASE_TERMINATED;
  if (action == "CompleteJob") world.phase = kube::v1::JOB_PHASE_COMPLETED;
  if (action != "RestartJob") return;
  if (!restarting) ++world.retries;
  world.phase = kube::v1::JOB_PHASE_RESTARTING;
}

bool ReferenceModel::IsComplete(const World& world, int task) const {
  const std::string& cells = world.cells[static_cast<size_t>(task)];
  return CountOf(cells, "sS") == static_cast<int>(cells.size()) && CountOf(cells, "s") > 0;
}

void ReferenceModel::Rest(World& world) const {
  if (world.phase != kube::v1::JOB_PHASE_RESTARTING) return;
  world.phase = world.retries >= spec_.max_retry() ? kube::v1::JOB_PHASE_FAILED : kube::v1::JOB_PHASE_RUNNING;
}

void ReferenceModel::Run(World& world) const {
  if (world.phase != kube::v1::JOB_PHASE_RUNNING) return;
  int total = 0;
  int done = 0;
  int broken = 0;
  int least = 0;
  bool short_of = false;
  for (int t = 0; t < spec_.tasks_size(); ++t) {
    const std::string& cells = world.cells[static_cast<size_t>(t)];
    total += static_cast<int>(cells.size());
    done += CountOf(cells, "sS");
    broken += CountOf(cells, "fF");
    least += spec_.tasks(t).min_available();
    short_of = short_of || (!cells.empty() && CountOf(cells, "sS") < spec_.tasks(t).min_available());
  }
  if (total == 0) return;
  if (spec_.has_min_success() && done >= spec_.min_success()) {
    world.phase = kube::v1::JOB_PHASE_COMPLETED;
    return;
  }
  if (done + broken < total) return;
  const bool failed =
      (spec_.min_available() >= least && short_of) || spec_.has_min_success() || done < spec_.min_available();
  world.phase = failed ? kube::v1::JOB_PHASE_FAILED : kube::v1::JOB_PHASE_COMPLETED;
}

}  // namespace basalt::jobsvc::testing
