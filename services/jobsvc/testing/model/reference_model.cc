#include "services/jobsvc/testing/model/reference_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace basalt::jobsvc::testing {

using kube::v1::JobPhase;

namespace {

int CountOf(const Cells& cells, std::string_view states) {
  int count = 0;
  for (const std::vector<Cell>& task : cells) count += CountOf(task, states);
  return count;
}

bool HasPod(const Cell& cell) { return cell.state != Cell::kNothing && cell.state != Cell::kDone; }

// Matches by job spec 6.
template <typename Policies>
const kube::v1::LifecyclePolicy* FirstMatch(const Policies& policies, const std::string& event, int exit_code) {
  for (const kube::v1::LifecyclePolicy& policy : policies) {
    for (const std::string& named : policy.events()) {
      if (named != event && named != "*") continue;
      if (event != "PodPending" || policy.has_timeout_ms()) return &policy;
    }
    if (exit_code != 0 && policy.has_exit_code() && policy.exit_code() == exit_code) return &policy;
  }
  return nullptr;
}

bool IsOfTask(const std::string& event) { return event == "TaskCompleted" || event == "TaskFailed"; }
bool IsOfAnEnd(const std::string& event) { return event == "PodFailed" || event == "PodEvicted"; }

}  // namespace

int CountOf(const std::vector<Cell>& cells, std::string_view states) {
  return static_cast<int>(std::count_if(cells.begin(), cells.end(), [&](const Cell& cell) {
    return states.find(static_cast<char>(cell.state)) != states.npos;
  }));
}

std::string SightOf(JobPhase phase, int retries, int version, const kube::v1::PodCounts& counts, const Cells& cells) {
  std::string text = fmt::format("phase {}, {} retries, version {}, {}:", static_cast<int>(phase), retries, version,
                                 counts.ShortDebugString());
  for (const std::vector<Cell>& task : cells) {
    text += " ";
    for (const Cell& cell : task) text += static_cast<char>(HasPod(cell) ? cell.state : Cell::kNothing);
  }
  return text;
}

std::string ReferenceModel::SightOfWorld(const World& world) {
  kube::v1::PodCounts counts;
  counts.set_pending(CountOf(world.cells, "p"));
  counts.set_running(CountOf(world.cells, "r"));
  counts.set_succeeded(CountOf(world.cells, "sd"));
  counts.set_failed(CountOf(world.cells, "f"));
  return SightOf(world.phase, world.retries, world.version, counts, world.cells);
}

// Finds every world to which a window may lead from one world.
class ReferenceModel::Window {
 public:
  Window(const ReferenceModel& model, const World& world, const std::vector<Fact>& facts, bool may_lose)
      : model_(model), may_lose_(may_lose) {
    for (const Fact& fact : facts)
      items_.push_back({Item::What::kFact, fact, fact.what == Fact::What::kStart ? "start" : ""});
    for (const auto& [place, deadline] : world.deadlines) {
      if (deadline.due != model.window_) continue;
      Fact fact;
      fact.task = place.first;
      fact.index = place.second;
      items_.push_back({Item::What::kDue, fact, fmt::format("{} {} {}", deadline.event, deadline.action, place.first)});
    }
    if (may_lose) items_.push_back({.what = Item::What::kLoss});
    Explore(world, (uint64_t{1} << items_.size()) - 1);
  }

  const std::set<World>& ends() const { return ends_; }

 private:
  void Explore(const World& world, uint64_t left) {
    if (!seen_.insert({world, left}).second) return;
    if (!world.asked.empty()) {
      World next = world;
      model_.Act(next);
      Explore(next, left);
    } else {
      World next = world;
      model_.Rest(next);
      if (left == 0) {
        ends_.insert(AtItsEnd(std::move(next)));
      } else {
        Explore(next, left);
      }
    }
    std::set<std::string> kinds;
    for (size_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if ((left >> i & 1) == 0 || (!item.kind.empty() && !kinds.insert(item.kind).second)) continue;
      for (const World& next : After(world, item)) Explore(next, left & ~(uint64_t{1} << i));
    }
  }

  std::vector<World> After(const World& world, const Item& item) const {
    if (item.what == Item::What::kFact) return model_.Observe(world, item.fact, may_lose_);
    if (item.what == Item::What::kLoss) return model_.Lose(world);
    World next = world;
    model_.Expire(next, {item.fact.task, item.fact.index});
    return {next};
  }

  // Numbers the pods anew.
  static World AtItsEnd(World world) {
    world.version_before = world.version;
    for (auto& [place, deadline] : world.deadlines) {
      if (const Cell* cell = At(world, place)) deadline.pod = std::max(deadline.pod - cell->pod, -1);
    }
    for (std::vector<Cell>& task : world.cells) {
      for (Cell& cell : task) {
        cell.pod = 0;
        cell.is_ending = false;
      }
    }
    return world;
  }

  const ReferenceModel& model_;
  const bool may_lose_;
  std::vector<Item> items_;
  std::set<std::pair<World, uint64_t>> seen_;
  std::set<World> ends_;
};

ReferenceModel::ReferenceModel(const kube::v1::JobSpec& spec, bool waits_for_claim) : spec_(spec) {
  World world;
  world.is_blocked = waits_for_claim;
  for (const kube::v1::TaskSpec& task : spec.tasks()) world.cells.emplace_back(task.replicas());
  worlds_ = Window(*this, world, {}, false).ends();
}

std::set<std::string> ReferenceModel::Sights() const {
  std::set<std::string> sights;
  for (const World& world : worlds_) sights.insert(SightOfWorld(world));
  return sights;
}

void ReferenceModel::See(const std::string& sight) {
  std::erase_if(worlds_, [&](const World& world) { return SightOfWorld(world) != sight; });
}

void ReferenceModel::Happen(const std::vector<Fact>& facts, bool may_lose) {
  ++window_;
  std::set<World> ends;
  for (const World& world : worlds_) ends.merge(std::set(Window(*this, world, facts, may_lose).ends()));
  worlds_ = std::move(ends);
}

bool ReferenceModel::IsLive(const World& world) {
  return world.phase == kube::v1::JOB_PHASE_PENDING || world.phase == kube::v1::JOB_PHASE_RUNNING ||
         world.phase == kube::v1::JOB_PHASE_RESTARTING;
}

Cell* ReferenceModel::At(World& world, Place place) {
  return place.first < 0 ? nullptr : &world.cells[static_cast<size_t>(place.first)][static_cast<size_t>(place.second)];
}

int ReferenceModel::Restarts(const World& world, int task) {
  int restarts = 0;
  for (const Cell& cell : world.cells[static_cast<size_t>(task)]) {
    if (cell.state == Cell::kMade || cell.state == Cell::kAlive) restarts += cell.restarts;
  }
  return restarts;
}

// ---- events ----

std::vector<ReferenceModel::World> ReferenceModel::Observe(const World& world, const Fact& fact, bool may_lose) const {
  World next = world;
  if (fact.what == Fact::What::kClaim) {
    next.is_blocked = false;
    return {next};
  }
  if (fact.what == Fact::What::kUnknown) {
    if (!IsLive(next)) return {next};
    Raise(next, "Unknown", {-1, -1});
    // A kill may have deleted the group before any process observed it.
    if (world.version == world.version_before) return {next};
    return {next, world};
  }
  Cell& cell = *At(next, {fact.task, fact.index});
  if (cell.pod != 0) return {next};  // The fact is about a pod that was killed.
  if (fact.what == Fact::What::kRemoval) return Remove(world, fact, may_lose);
  if (fact.what == Fact::What::kRestarts) return Restart(world, fact, may_lose);
  const bool was_there = cell.state == Cell::kMade || cell.state == Cell::kAlive;
  if (!was_there && !cell.is_ending) return {next};
  if (fact.what == Fact::What::kStart) {
    if (!was_there) return {next};
    cell.state = Cell::kAlive;
    Cancel(next, "PodRunning", {fact.task, fact.index});
    return {next};
  }
  End(next, fact);
  return was_there ? std::vector<World>{next} : std::vector<World>{next, world};
}

void ReferenceModel::End(World& world, const Fact& fact) const {
  const Place place(fact.task, fact.index);
  Cell& cell = *At(world, place);
  cell.state = fact.what == Fact::What::kSuccess ? Cell::kSucceeded : Cell::kBroken;
  cell.restarts = 0;
  if (std::exchange(cell.is_ending, false)) {
    cell.is_older = true;
    return;
  }
  if (fact.what == Fact::What::kFailure) return Raise(world, "PodFailed", place, fact.number);
  Cancel(world, "TaskCompleted", place);
  const auto& task = world.cells[static_cast<size_t>(fact.task)];
  if (CountOf(task, "sd") == static_cast<int>(task.size())) Raise(world, "TaskCompleted", place);
}

std::vector<ReferenceModel::World> ReferenceModel::Remove(const World& world, const Fact& fact, bool may_lose) const {
  const Place place(fact.task, fact.index);
  World seen = world;
  Cell& cell = *At(seen, place);
  if (!HasPod(cell)) return {world};
  const bool was_done = cell.state == Cell::kSucceeded;
  const bool raises = !was_done && !cell.is_older;
  World unseen = world;
  Cell& lost = *At(unseen, place);
  lost = Cell{.pod = cell.pod};
  cell.state = was_done ? Cell::kDone : Cell::kNothing;
  cell.restarts = 0;
  if (!was_done) cell.is_older = false;
  if (raises) Raise(seen, "PodEvicted", place);
  if (!may_lose) return {seen};
  Cancel(unseen, "PodEvicted", place);
  return {seen, unseen};
}

// TaskFailed is raised once, by the restarts that reach the limit (3.4, W31). A process that observes the task for the
// first time may count in another order.
std::vector<ReferenceModel::World> ReferenceModel::Restart(const World& world, const Fact& fact, bool may_lose) const {
  World next = world;
  Cell& cell = *At(next, {fact.task, fact.index});
  if (cell.state != Cell::kMade && cell.state != Cell::kAlive) return {world};
  cell.restarts += fact.number;
  const int limit = MostRestarts(fact.task);
  const int sum = Restarts(next, fact.task);
  if (limit == -1 || Restarts(world, fact.task) >= limit || sum < limit) return {next};
  std::vector<World> worlds;
  const auto& cells = next.cells[static_cast<size_t>(fact.task)];
  for (int i = 0; i < static_cast<int>(cells.size()); ++i) {
    const Cell& other = cells[static_cast<size_t>(i)];
    const bool is_alive = other.state == Cell::kMade || other.state == Cell::kAlive;
    if (i != fact.index && (!may_lose || !is_alive || other.restarts == 0)) continue;
    worlds.push_back(next);
    Raise(worlds.back(), "TaskFailed", {fact.task, i});
  }
  return worlds;
}

void ReferenceModel::Raise(World& world, const std::string& event, Place place, int exit_code) const {
  Cancel(world, event, place);
  if (!IsLive(world)) return;
  const kube::v1::LifecyclePolicy* policy = nullptr;
  if (place.first >= 0) policy = FirstMatch(spec_.tasks(place.first).policies(), event, exit_code);
  if (policy == nullptr) policy = FirstMatch(spec_.policies(), event, exit_code);
  if (policy == nullptr) return;
  const Cell* const cell = At(world, place);
  Answer answer{event, policy->action(), place, cell == nullptr ? 0 : cell->pod, cell == nullptr ? -1 : world.version};
  if (policy->timeout_ms() == 0) return world.asked.push_back(answer);
  answer.due = window_ + static_cast<int>(policy->timeout_ms() / kWindowMs);
  AddDeadline(world, answer);
}

// Applies 7.1. The deadline of a task is the same whichever pod's event sets it.
void ReferenceModel::AddDeadline(World& world, const Answer& answer) {
  const auto known = world.deadlines.find(answer.place);
  if (known != world.deadlines.end() && known->second.action == answer.action) {
    // The old deadline is of a pod that is gone (W15).
    const bool is_over = known->second.event == "PodPending" && known->second.pod != answer.pod;
    if (!is_over) return;
  }
  for (const auto& [place, other] : world.deadlines) {
    if (IsOfTask(answer.event) && other.event == answer.event && place.first == answer.place.first &&
        other.action == answer.action) {
      return;
    }
  }
  world.deadlines[answer.place] = answer;
}

// Applies 7.3, also if the pod has succeeded (S19).
void ReferenceModel::Cancel(World& world, const std::string& event, Place place) {
  const bool runs = event == "PodRunning" || event == "TaskCompleted";
  if (!runs && !IsOfAnEnd(event)) return;
  const auto deadline = world.deadlines.find(place);
  if (deadline == world.deadlines.end()) return;
  const bool is_same = deadline->second.pod == At(world, place)->pod;
  const std::string& since = deadline->second.event;
  if (since == "PodPending" ? is_same : IsOfAnEnd(since) && runs && !is_same) world.deadlines.erase(deadline);
}

bool ReferenceModel::StillHolds(World& world, const Answer& answer) {
  const Cell* const cell = At(world, answer.place);
  const bool is_same = cell != nullptr && cell->pod == answer.pod;
  if (answer.event == "PodPending") return is_same && cell->state == Cell::kMade;
  if (!IsOfAnEnd(answer.event)) return true;
  return is_same || (cell->state != Cell::kAlive && cell->state != Cell::kSucceeded);
}

void ReferenceModel::Expire(World& world, Place place) const {
  const auto deadline = world.deadlines.find(place);
  if (deadline == world.deadlines.end() || deadline->second.due != window_) return;
  const Answer answer = deadline->second;
  world.deadlines.erase(deadline);
  if (StillHolds(world, answer)) world.asked.push_back(answer);
}

// Kubernetes records neither that a pod which is gone had failed, nor that TaskFailed was raised for a task at its
// limit.
std::vector<ReferenceModel::World> ReferenceModel::Lose(const World& world) const {
  World lost = world;
  std::erase_if(lost.deadlines, [&](const auto& entry) {
    const Cell* const cell = At(lost, entry.first);
    return entry.second.event == "PodFailed" && (cell->state != Cell::kBroken || entry.second.pod != cell->pod);
  });
  std::vector<World> worlds = {lost};
  for (int t = 0; t < spec_.tasks_size(); ++t) {
    if (MostRestarts(t) == -1 || Restarts(lost, t) < MostRestarts(t)) continue;
    for (int i = 0; i < spec_.tasks(t).replicas(); ++i) {
      if (At(lost, {t, i})->restarts == 0) continue;
      worlds.push_back(lost);
      Raise(worlds.back(), "TaskFailed", {t, i});
    }
  }
  return worlds;
}

int ReferenceModel::MostRestarts(int task) const {
  const int given = spec_.tasks(task).max_retry();
  return given == 0 ? 3 : given;
}

}  // namespace basalt::jobsvc::testing
