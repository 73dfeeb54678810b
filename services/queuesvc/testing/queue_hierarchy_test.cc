// Random trees of queues under the acts of people, the scheduler and pgsvc, several at a time, compared with a model of
// a few lines. Replicas are killed in between, and slots go to others and come back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/random.h"
#include "common/base/slots.h"
#include "services/queuesvc/testing/queue_rig.h"

namespace basalt::queuesvc::testing {
namespace {

// No count has the groups of phase "".
constexpr const char* kPhases[] = {"Pending", "Inqueue", "Running", "Unknown", "Completed", ""};
constexpr const char* kCounts[] = {"pending", "inqueue", "running", "unknown", "completed"};
constexpr char kNonsense[] = "Ajar";

// States, marks and pod groups of the queues once nothing changes any more. A closed queue is Closing here until
// Reconcile has decided.
class Model {
 public:
  struct Queue {
    std::string parent;
    std::string state = "Open";
    std::string mark;
  };
  struct Group {
    std::string queue;
    std::string phase;
  };
  std::map<std::string, Queue> queues;
  std::map<std::string, Group> groups;
  // Queues that have held a pod group at all times since the last Reconcile.
  std::set<std::string> held;

  int64_t GroupsOf(const std::string& queue) const {
    return std::count_if(groups.begin(), groups.end(), [&](const auto& group) { return group.second.queue == queue; });
  }
  int64_t GroupsOf(const std::string& queue, std::string_view phase) const {
    return std::count_if(groups.begin(), groups.end(),
                         [&](const auto& group) { return group.second.queue == queue && group.second.phase == phase; });
  }
  void Leave(const std::string& queue) {
    if (GroupsOf(queue) == 0) held.erase(queue);
  }

  static bool IsClosed(const Queue& queue) { return queue.state == "Closed" || queue.state == "Closing"; }
  static void Close(Queue& queue) { queue.state = "Closing"; }
  // A queue that somebody closes is not opened with its parent, wherever its parent is.
  static void CloseByHand(Queue& queue) {
    if (queue.mark == "true") queue.mark = "false";
    if (!IsClosed(queue)) Close(queue);
  }
  static void Open(Queue& queue) {
    queue.state = "Open";
    queue.mark = "false";
  }
  bool IsBelowClosed(const Queue& queue) const {
    const auto parent = queues.find(queue.parent);
    return parent != queues.end() && IsClosed(parent->second);
  }
  bool IsBelowOpen(const Queue& queue) const {
    const auto parent = queues.find(queue.parent);
    return parent != queues.end() && parent->second.state == "Open";
  }
  // Whether the parent opens the queue again once it is closed, whoever closes it.
  bool IsReopened(const Queue& queue) const { return queue.mark == "true" && IsBelowOpen(queue); }
  // The queue enters that state, whoever has set it.
  void Enter(Queue& queue, std::string_view state) const {
    queue.state = state;
    if (state == kNonsense || IsClosed(queue) || !IsBelowClosed(queue)) return;
    queue.mark = "true";
    Close(queue);
  }

  void Reconcile() {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto& [name, queue] : queues) {
        const Queue before = queue;
        if (IsReopened(queue) && (IsClosed(queue) || queue.state == "Open")) {
          Open(queue);
        } else {
          Enter(queue, queue.state);
        }
        if (queue.state == "Closing" && GroupsOf(name) == 0) queue.state = "Closed";
        changed |= queue.state != before.state || queue.mark != before.mark;
      }
    }
  }
  // Whether the queue may be Closed as well as Closing: it was closed while it held nothing and was given a pod group
  // at the same time, so that its state depends on which of the two queuesvc observed first.
  bool MayBeClosed(const std::string& name) const { return queues.at(name).state == "Closing" && !held.contains(name); }
};

class Hierarchy {
 public:
  Hierarchy(uint64_t seed, int queues) : random_(seed) {
    rig_.Start();
    for (int i = 0; i < queues; ++i) {
      busy_.clear();
      MakeQueue();
    }
    model_.queues["root"] = {};
    model_.queues["default"] = {.parent = "root"};
  }

  void Run(int rounds) {
    Reconcile();
    Compare();
    for (int round = 0; round < rounds && !::testing::Test::HasFailure(); ++round) {
      SCOPED_TRACE(fmt::format("round {}: {}", round, Acts()));
      Reconcile();
      Compare();
    }
    rig_.ExpectNothingIsWrittenAgain();
  }

 private:
  std::string AnyQueue() {
    auto queue = model_.queues.begin();
    std::advance(queue, random_.Uniform(model_.queues.size()));
    return queue->first;
  }

  // Whether the queue is `above` or below it, even if `above` does not exist.
  bool IsBelow(std::string name, const std::string& above) const {
    while (name != above) {
      const auto queue = model_.queues.find(name);
      if (queue == model_.queues.end()) return false;
      name = queue->second.parent;
    }
    return true;
  }
  bool IsLeaf(const std::string& name) const {
    return std::none_of(model_.queues.begin(), model_.queues.end(),
                        [&name](const auto& queue) { return queue.second.parent == name; });
  }
  // Whether no earlier act is about the queue, one above it or one below it. The fate of a queue depends on those above
  // it: the result of two acts at the same time would depend on their order.
  bool IsFree(const std::string& name) const {
    return std::none_of(busy_.begin(), busy_.end(),
                        [&](const std::string& other) { return IsBelow(name, other) || IsBelow(other, name); });
  }
  // Root is above nearly all queues: an act below root may run beside acts about any of them but root.
  bool IsFreeParent(const std::string& name) const { return name == "root" ? !busy_.contains(name) : IsFree(name); }
  bool Take(const std::string& name) {
    if (!IsFree(name)) return false;
    busy_.insert(name);
    return true;
  }
  void TakeBelow(const std::string& name, const std::string& parent) {
    busy_.insert(name);
    if (parent != "root") busy_.insert(parent);
  }

  void MakeQueue() {
    std::string name = fmt::format("q-{}", next_++);
    if (!deleted_.empty() && random_.OneIn(2)) {
      name = deleted_.back();
      deleted_.pop_back();
    }
    std::string parent = model_.queues.empty() ? "root" : AnyQueue();
    if (IsBelow(parent, name) || !IsFree(parent)) parent = "root";
    if (!IsFree(name) || !IsFreeParent(parent)) return deleted_.push_back(name);
    TakeBelow(name, parent);
    model_.Enter(model_.queues[name] = {.parent = parent}, "Open");
    rig_.MakeQueue(name, parent);
  }

  // Acts several times, a few milliseconds apart or at once: the controller is busy with one act when it learns of the
  // next.
  std::string Acts() {
    busy_.clear();
    model_.held.clear();
    for (const auto& [name, group] : model_.groups) model_.held.insert(group.queue);
    std::string acts;
    for (uint64_t more = 1 + random_.Uniform(8); more > 0; --more) {
      if (random_.OneIn(4)) rig_.KillAt(1 + static_cast<int>(random_.Uniform(20)));
      acts += Act() + "; ";
      rig_.Run(absl::Milliseconds(random_.OneIn(8) ? 1000 : random_.Uniform(5)));
      if (!rig_.alive() && random_.OneIn(2)) Restart();
    }
    return acts;
  }

  std::string EditByHand() {
    const std::string name = AnyQueue();
    Model::Queue& queue = model_.queues[name];
    if (random_.OneIn(4) && name != "root" && name != "default") {
      if (!Take(name)) return "nothing";
      rig_.server().Delete(kube::kQueues, "", name);
      rig_.MakeQueue(name, queue.parent);
      model_.Enter(queue = {.parent = queue.parent}, "Open");
      return fmt::format("queue {} is made anew", name);
    }
    constexpr const char* kStates[] = {"Open", "Closed", "Closing", "Unknown", kNonsense, ""};
    const std::string state = kStates[random_.Uniform(std::size(kStates))];
    // The queues below may or may not observe a state that lasts for a moment.
    const bool is_brief =
        state == "Open" ? model_.IsBelowClosed(queue) : state.starts_with("Clos") && model_.IsReopened(queue);
    if ((is_brief && !IsLeaf(name)) || !Take(name)) return "nothing";
    model_.Enter(queue, state.empty() ? "Open" : state);
    rig_.server().Merge(kube::kQueues, "", name, json::object{{"status", json::object{{"state", state}}}}, "status");
    return fmt::format("queue {} is edited to '{}'", name, state);
  }

  std::string Act() {
    const uint64_t what = random_.Uniform(27);
    if (what >= 24) return EditByHand();
    if (what < 4) return Command(kCloseQueue);
    if (what < 8) return Command(kOpenQueue);
    if (what < 11) {
      const std::string name = fmt::format("g-{}", next_++);
      Model::Group& group = model_.groups[name] = {AnyQueue(), AnyPhase()};
      rig_.MakeGroup(name, group.queue, group.phase);
      return fmt::format("group {} in {}, {}", name, group.queue, group.phase);
    }
    if (what < 19 && !model_.groups.empty()) return ChangeGroup();
    if (what < 20) return MoveSlot();
    if (what < 21) {
      MakeQueue();
      return "a new queue";
    }
    const std::string name = AnyQueue();
    if (name == "root" || name == "default" || !IsFree(name)) return "nothing";
    if (what < 23) {
      const std::string parent = AnyQueue();
      if (IsBelow(parent, name) || !IsFreeParent(parent)) return "nothing";
      TakeBelow(name, parent);
      model_.queues[name].parent = parent;
      rig_.server().Merge(kube::kQueues, "", name, json::object{{"spec", json::object{{"parent", parent}}}});
      return fmt::format("queue {} moves below {}", name, parent);
    }
    if (model_.queues.size() < 4) return "nothing";
    busy_.insert(name);
    model_.queues.erase(name);
    deleted_.push_back(name);
    rig_.server().Delete(kube::kQueues, "", name);
    return fmt::format("queue {} is deleted", name);
  }

  std::string AnyPhase() { return kPhases[random_.Uniform(std::size(kPhases))]; }

  // Requires: there is a group.
  std::string ChangeGroup() {
    auto group = model_.groups.begin();
    std::advance(group, random_.Uniform(model_.groups.size()));
    const std::string name = group->first;
    const std::string before = group->second.queue;
    const uint64_t what = random_.Uniform(4);
    if (what < 2) {
      group->second.phase = AnyPhase();
      rig_.server().Merge(kube::kPodGroups, "default", name,
                          json::object{{"status", json::object{{"phase", group->second.phase}}}});
      return fmt::format("group {} is {}", name, group->second.phase);
    }
    if (what == 2) {
      group->second.queue = AnyQueue();
      model_.Leave(before);
      rig_.server().Merge(kube::kPodGroups, "default", name,
                          json::object{{"spec", json::object{{"queue", group->second.queue}}}});
      return fmt::format("group {} moves from {} to {}", name, before, group->second.queue);
    }
    model_.groups.erase(group);
    model_.Leave(before);
    rig_.server().Delete(kube::kPodGroups, "default", name);
    return fmt::format("group {} of {} is deleted", name, before);
  }

  // Another replica has the slot until the next Reconcile, and does nothing.
  std::string MoveSlot() {
    const uint32_t slot = SlotOf(AnyQueue());
    if (!rig_.alive() || !away_.insert(slot).second) return "nothing";
    rig_.CloseSlot(slot);
    return fmt::format("slot {} is closed", slot);
  }

  // Sends several Commands in a row to a queue without children: they are carried out in their order.
  std::string Command(std::string_view action) {
    const std::string name = AnyQueue();
    Model::Queue& queue = model_.queues[name];
    if (queue.state == kNonsense || !Take(name)) return "nothing";
    std::string text = name;
    for (uint64_t more = IsLeaf(name) ? 1 + random_.Uniform(3) : 1; more > 0; --more) {
      rig_.Command(fmt::format("c-{:05}", next_++), name, action);
      if (action == kOpenQueue && !model_.IsBelowClosed(queue)) Model::Open(queue);
      if (action == kCloseQueue && name != "root") Model::CloseByHand(queue);
      text += fmt::format(" {}", action);
      action = random_.OneIn(2) ? kOpenQueue : kCloseQueue;
    }
    return text;
  }

  void Restart() {
    if (random_.OneIn(4)) rig_.LoseDisk();
    rig_.KillAt(0);
    away_.clear();
    rig_.Start();
  }

  void Reconcile() {
    model_.Reconcile();
    if (rig_.alive()) {
      for (const uint32_t slot : away_) rig_.OpenSlot(slot);
      away_.clear();
      rig_.Run(absl::Minutes(1));
    }
    if (rig_.alive()) return rig_.KillAt(0);
    Restart();
    rig_.Run(absl::Minutes(1));
  }

  void Compare() {
    for (auto& [name, queue] : model_.queues) {
      const std::string state = rig_.StateOf(name);
      if (model_.MayBeClosed(name) && state == "Closed") queue.state = state;
      EXPECT_EQ(state, queue.state) << name << ": " << rig_.HistoryOf(name);
      EXPECT_EQ(rig_.MarkOf(name), queue.mark) << name;
      if (queue.state == kNonsense) continue;  // Nothing is written to such a queue.
      const json::value status = rig_.MemberOf(name, "status");
      for (size_t i = 0; i < std::size(kCounts); ++i) {
        EXPECT_EQ(FindInt(status, kCounts[i]), model_.GroupsOf(name, kPhases[i])) << name << ", " << kCounts[i];
      }
    }
    rig_.ExpectShownIsRecorded();
  }

  SeededRandom random_;
  QueueRig rig_;
  Model model_;
  std::vector<std::string> deleted_;
  std::set<std::string> busy_;  // Queues that acts were about since the last Reconcile.
  std::set<uint32_t> away_;     // Slots that another replica has.
  int next_ = 0;
};

class QueueHierarchyTest : public ::testing::TestWithParam<int> {};

TEST_P(QueueHierarchyTest, StatesMarksAndCountsAreThoseOfTheModel) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Hierarchy(seed, GetParam()).Run(30);
  }
}

INSTANTIATE_TEST_SUITE_P(Queues, QueueHierarchyTest, ::testing::Values(1, 5, 30, 200),
                         [](const auto& size) { return std::to_string(size.param); });

}  // namespace
}  // namespace basalt::queuesvc::testing
