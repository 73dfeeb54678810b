// The transitions of the reference model's worlds: by actions (job spec 7.5, 8.1, 9.4, 9.5), and without any (8.2, 9.1,
// 9.7).
#include <algorithm>
#include <string>
#include <utility>

#include "services/jobsvc/testing/model/reference_model.h"

namespace basalt::jobsvc::testing {

using kube::v1::JobPhase;

namespace {

bool IsTargeted(const std::string& action) {
  return action == "RestartTask" || action == "RestartPod" || action == "RestartPartition";
}

bool HasEnded(const Cell& cell) {
  return cell.state == Cell::kSucceeded || cell.state == Cell::kBroken || cell.state == Cell::kDone;
}

}  // namespace

void ReferenceModel::Act(World& world) const {
  const Answer answer = world.asked.front();
  world.asked.erase(world.asked.begin());
  if (!IsLive(world) || (answer.version >= 0 && answer.version < world.version)) return;
  if (answer.due != 0 && !StillHolds(world, answer)) return;
  if (IsTargeted(answer.action)) return KillSome(world, answer);
  if (answer.action == "ResumeJob") return;  // The job is not aborted.
  const bool is_restarting = world.phase == kube::v1::JOB_PHASE_RESTARTING;
  const bool restarts = answer.action == "RestartJob";
  KillAll(world, /*keeps=*/!restarts || (!is_restarting && world.retries >= spec_.max_retry() - 1));
  if (answer.action == "AbortJob") world.phase = kube::v1::JOB_PHASE_ABORTED;
  if (answer.action == "TerminateJob") world.phase = kube::v1::JOB_PHASE_TERMINATED;
  if (answer.action == "CompleteJob") world.phase = kube::v1::JOB_PHASE_COMPLETED;
  if (!restarts) return;
  if (!is_restarting) ++world.retries;
  world.phase = kube::v1::JOB_PHASE_RESTARTING;
}

// Begins a new version: deadlines and delayed actions of the old one are dropped.
void ReferenceModel::KillAll(World& world, bool keeps) const {
  ++world.version;
  world.deadlines.clear();
  std::erase_if(world.asked, [](const Answer& other) { return other.due != 0; });
  for (std::vector<Cell>& task : world.cells) {
    for (Cell& cell : task) {
      if (keeps && HasEnded(cell)) {
        cell.is_older = true;
      } else {
        cell = {.is_ending = keeps && (cell.is_ending || cell.state != Cell::kNothing), .pod = cell.pod};
      }
    }
  }
}

// Without targets nothing is done, unless an eviction has removed the target (W32).
void ReferenceModel::KillSome(World& world, const Answer& answer) const {
  const std::vector<Place> targets = TargetsOf(world, answer);
  const bool is_without = answer.action == "RestartPartition" && PartitionOf(answer.place) < 0;
  if (targets.empty() && (answer.event != "PodEvicted" || is_without)) return;
  for (const Place& place : targets) *At(world, place) = {.pod = At(world, place)->pod};
  if (world.phase != kube::v1::JOB_PHASE_RESTARTING) ++world.retries;
  world.phase = kube::v1::JOB_PHASE_RESTARTING;
  CleanUp(world, answer);
}

std::vector<ReferenceModel::Place> ReferenceModel::TargetsOf(World& world, const Answer& answer) const {
  std::vector<Place> targets;
  if (answer.place.first < 0) return targets;
  for (int i = 0; i < spec_.tasks(answer.place.first).replicas(); ++i) {
    const Place place(answer.place.first, i);
    const Cell& cell = *At(world, place);
    if (cell.state == Cell::kNothing) continue;
    if (answer.action == "RestartPod") {
      // A deadline that counts since the end of a pod is about its successor.
      const bool of_next = answer.due != 0 && (answer.event == "PodFailed" || answer.event == "PodEvicted");
      if (place != answer.place || cell.state == Cell::kDone || (cell.pod != answer.pod && !of_next)) continue;
    } else if (answer.action == "RestartPartition") {
      if (PartitionOf(place) < 0 || PartitionOf(place) != PartitionOf(answer.place)) continue;
    }
    targets.push_back(place);
  }
  return targets;
}

// Applies 7.5, except for the level of the job, which KillAll cleans up.
void ReferenceModel::CleanUp(World& world, const Answer& done) const {
  const auto clears = [&](const Answer& other) {
    if (other.due == 0 || other.action != done.action || other.place.first != done.place.first) return false;
    if (done.action == "RestartTask") return true;
    if (done.action == "RestartPod") return other.place == done.place;
    return PartitionOf(other.place) == PartitionOf(done.place);
  };
  std::erase_if(world.deadlines, [&](const auto& entry) { return clears(entry.second); });
  std::erase_if(world.asked, clears);
}

int ReferenceModel::PartitionOf(Place place) const {
  if (place.first < 0) return -1;
  const int size = spec_.tasks(place.first).partition_policy().partition_size();
  return size > 0 ? place.second / size : -1;
}

// ---- without any action ----

void ReferenceModel::Rest(World& world) const {
  while (IsLive(world)) {
    const World before = world;
    world.phase = Conclude(world);
    if (!IsLive(world)) {
      world.deadlines.clear();
      for (std::vector<Cell>& task : world.cells) {
        for (Cell& cell : task) {
          if (!HasEnded(cell)) cell = {.is_ending = cell.state != Cell::kNothing, .pod = cell.pod};
        }
      }
      return;
    }
    Make(world);
    if (world == before) return;
  }
}

void ReferenceModel::Make(World& world) const {
  if (world.is_blocked) return;
  for (int t = 0; t < spec_.tasks_size(); ++t) {
    if (!MayStart(world, t)) continue;
    for (int i = 0; i < spec_.tasks(t).replicas(); ++i) {
      Cell& cell = *At(world, {t, i});
      if (cell.state != Cell::kNothing) continue;
      cell = {.state = Cell::kMade, .pod = cell.pod + 1};
      Raise(world, "PodPending", {t, i});
    }
  }
}

bool ReferenceModel::MayStart(const World& world, int task) const {
  const kube::v1::DependsOn& on = spec_.tasks(task).depends_on();
  const auto is_ready = [&](const std::string& name) { return IsReady(world, name); };
  if (on.names_size() > 1 && on.iteration() == "any")
    return std::any_of(on.names().begin(), on.names().end(), is_ready);
  return std::all_of(on.names().begin(), on.names().end(), is_ready);
}

// Only a delayed action would make failed pods anew.
bool ReferenceModel::CanNeverStart(const World& world, int task) const {
  const kube::v1::DependsOn& on = spec_.tasks(task).depends_on();
  if (on.names_size() == 0 || MayStart(world, task)) return false;
  const auto is_lost = [&](const std::string& name) {
    for (int t = 0; t < spec_.tasks_size(); ++t) {
      if (spec_.tasks(t).name() != name) continue;
      const std::vector<Cell>& cells = world.cells[static_cast<size_t>(t)];
      const int lost = CountOf(cells, CanNeverStart(world, t) ? "f-" : "f");
      return static_cast<int>(cells.size()) - lost < spec_.tasks(t).min_available();
    }
    return true;
  };
  if (on.names_size() > 1 && on.iteration() == "any") return std::all_of(on.names().begin(), on.names().end(), is_lost);
  return std::any_of(on.names().begin(), on.names().end(), is_lost);
}

bool ReferenceModel::IsReady(const World& world, const std::string& task) const {
  for (int t = 0; t < spec_.tasks_size(); ++t) {
    if (spec_.tasks(t).name() != task) continue;
    return CountOf(world.cells[static_cast<size_t>(t)], "rsd") >= spec_.tasks(t).min_available();
  }
  return false;
}

// Concludes by 8.2: PEND, RUN and REST.
JobPhase ReferenceModel::Conclude(const World& world) const {
  if (world.phase == kube::v1::JOB_PHASE_RESTARTING) {
    return world.retries >= spec_.max_retry() ? kube::v1::JOB_PHASE_FAILED : kube::v1::JOB_PHASE_PENDING;
  }
  int total = 0;
  int pending = 0;
  int running = 0;
  int succeeded = 0;
  int failed = 0;
  int least = 0;
  bool is_short = false;
  for (int t = 0; t < spec_.tasks_size(); ++t) {
    const std::vector<Cell>& cells = world.cells[static_cast<size_t>(t)];
    const int of_task = CountOf(cells, "sd");
    total += static_cast<int>(cells.size());
    pending += CountOf(cells, "p");
    running += CountOf(cells, "r");
    failed += CountOf(cells, world.deadlines.empty() && CanNeverStart(world, t) ? "f-" : "f");
    succeeded += of_task;
    least += spec_.tasks(t).min_available();
    is_short = is_short || (!cells.empty() && of_task < spec_.tasks(t).min_available());
  }
  if (world.phase == kube::v1::JOB_PHASE_PENDING) {
    const bool starts = spec_.min_available() <= running + succeeded + failed;
    return starts ? kube::v1::JOB_PHASE_RUNNING : kube::v1::JOB_PHASE_PENDING;
  }
  if (total == 0) return world.phase;
  if (spec_.has_min_success() && succeeded >= spec_.min_success()) return kube::v1::JOB_PHASE_COMPLETED;
  if (succeeded + failed == total) {
    const bool fails =
        (spec_.min_available() >= least && is_short) || spec_.has_min_success() || succeeded < spec_.min_available();
    return fails ? kube::v1::JOB_PHASE_FAILED : kube::v1::JOB_PHASE_COMPLETED;
  }
  return pending > total - spec_.min_available() ? kube::v1::JOB_PHASE_PENDING : world.phase;
}

}  // namespace basalt::jobsvc::testing
