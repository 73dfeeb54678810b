// Random trees of queues, and what people and pgsvc do to them, beside a model of a few lines; replicas are killed in
// between.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "services/queuesvc/testing/queue_rig.h"

namespace basalt::queuesvc::testing {
namespace {

// States, marks and pod groups of the queues once everything has settled.
class Model {
 public:
  struct Queue {
    std::string parent;
    std::string state = "Open";
    std::string mark;
  };
  std::map<std::string, Queue> queues;
  std::map<std::string, std::string> groups;  // The queue of each.

  int64_t GroupsOf(const std::string& queue) const {
    return std::count_if(groups.begin(), groups.end(), [&](const auto& group) { return group.second == queue; });
  }
  static bool IsClosed(const Queue& queue) { return queue.state == "Closed" || queue.state == "Closing"; }
  void Close(const std::string& name) { queues[name].state = GroupsOf(name) == 0 ? "Closed" : "Closing"; }

  static void Open(Queue& queue) {
    queue.state = "Open";
    queue.mark = "false";
  }
  bool IsBelowClosed(const Queue& queue) const {
    const auto parent = queues.find(queue.parent);
    return parent != queues.end() && IsClosed(parent->second);
  }

  void Settle() {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto& [name, queue] : queues) {
        const Queue before = queue;
        const auto parent = queues.find(queue.parent);
        const bool is_below_closed = IsBelowClosed(queue);
        if (is_below_closed && !IsClosed(queue)) {
          queue.mark = "true";
          Close(name);
        } else if (parent != queues.end() && !is_below_closed && queue.mark == "true") {
          Open(queue);
        }
        if (queue.state == "Closing") Close(name);
        changed |= queue.state != before.state || queue.mark != before.mark;
      }
    }
  }
};

class Hierarchy {
 public:
  Hierarchy(uint64_t seed, int queues) : random_(seed) {
    rig_.Start();
    for (int i = 0; i < queues; ++i) MakeQueue();
    model_.queues["root"] = {};
    model_.queues["default"] = {.parent = "root"};
  }

  void Run(int steps) {
    Settle();
    for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE(fmt::format("step {}: {}", step, Act()));
      Settle();
      Compare();
    }
  }

 private:
  std::string AnyQueue() {
    auto queue = model_.queues.begin();
    std::advance(queue, random_.Uniform(model_.queues.size()));
    return queue->first;
  }
  std::string OneOfThem() {  // Neither root nor default.
    for (;;) {
      std::string name = AnyQueue();
      if (name != "root" && name != "default") return name;
    }
  }

  void MakeQueue() {
    std::string name = fmt::format("q-{}", next_++);
    if (!deleted_.empty() && random_.OneIn(2)) {
      name = deleted_.back();
      deleted_.pop_back();
    }
    std::string parent = model_.queues.empty() ? "root" : AnyQueue();
    if (IsBelow(parent, name)) parent = "root";
    Model::Queue& queue = model_.queues[name] = {.parent = parent};
    if (model_.IsBelowClosed(queue)) {  // It is never open, and so opens none of those below.
      queue.mark = "true";
      model_.Close(name);
    }
    rig_.MakeQueue(name, parent);
  }

  // Whether the queue is that one or below it, also where that one is not there.
  bool IsBelow(std::string name, const std::string& above) const {
    while (name != above) {
      const auto queue = model_.queues.find(name);
      if (queue == model_.queues.end()) return false;
      name = queue->second.parent;
    }
    return true;
  }

  std::string Act() {
    if (random_.OneIn(3)) rig_.KillAt(1 + static_cast<int>(random_.Uniform(20)));
    const uint64_t what = random_.Uniform(20);
    if (what < 5) return Command(kCloseQueue);
    if (what < 10) return Command(kOpenQueue);
    if (what < 13) {
      const std::string group = fmt::format("g-{}", next_++);
      const std::string queue = AnyQueue();
      model_.groups[group] = queue;
      rig_.MakeGroup(group, queue, random_.OneIn(2) ? "Running" : "Pending");
      return fmt::format("group {} in {}", group, queue);
    }
    if (what < 16 && !model_.groups.empty()) {
      auto group = model_.groups.begin();
      std::advance(group, random_.Uniform(model_.groups.size()));
      const std::string name = group->first;
      if (random_.OneIn(2)) {
        group->second = AnyQueue();
        rig_.server().Merge(kube::kPodGroups, "default", name,
                            json::object{{"spec", json::object{{"queue", group->second}}}});
        return fmt::format("group {} moves to {}", name, group->second);
      }
      model_.groups.erase(group);
      rig_.server().Delete(kube::kPodGroups, "default", name);
      return fmt::format("group {} is deleted", name);
    }
    if (what < 17) {
      MakeQueue();
      return "a new queue";
    }
    const std::string name = OneOfThem();
    if (what < 19) {
      const std::string parent = AnyQueue();
      if (!IsBelow(parent, name)) {
        model_.queues[name].parent = parent;
        rig_.server().Merge(kube::kQueues, "", name, json::object{{"spec", json::object{{"parent", parent}}}});
      }
      return fmt::format("queue {} moves below {}", name, parent);
    }
    if (model_.queues.size() < 4) return "nothing";
    model_.queues.erase(name);
    deleted_.push_back(name);
    rig_.server().Delete(kube::kQueues, "", name);
    return fmt::format("queue {} is deleted", name);
  }

  std::string Command(std::string_view action) {
    const std::string queue = AnyQueue();
    Model::Queue& of = model_.queues[queue];
    rig_.Command(fmt::format("c-{:05}", next_++), queue, action);
    if (action == kOpenQueue && !model_.IsBelowClosed(of)) Model::Open(of);
    if (action == kCloseQueue && queue != "root" && !Model::IsClosed(of)) model_.Close(queue);
    return fmt::format("{} {}", action, queue);
  }

  void Settle() {
    model_.Settle();
    rig_.Run(absl::Minutes(1));
    if (rig_.alive()) return rig_.KillAt(0);
    if (random_.OneIn(4)) rig_.LoseDisk();
    rig_.KillAt(0);
    rig_.Start();
    rig_.Run(absl::Minutes(1));
  }

  void Compare() {
    for (const auto& [name, queue] : model_.queues) {
      EXPECT_EQ(rig_.StateOf(name), queue.state) << name << ": " << rig_.HistoryOf(name);
      EXPECT_EQ(rig_.MarkOf(name), queue.mark) << name;
      const json::value status = rig_.MemberOf(name, "status");
      EXPECT_EQ(FindInt(status, "running") + FindInt(status, "pending"), model_.GroupsOf(name)) << name;
    }
  }

  SeededRandom random_;
  QueueRig rig_;
  Model model_;
  std::vector<std::string> deleted_;
  int next_ = 0;
};

class QueueHierarchyTest : public ::testing::TestWithParam<int> {};

TEST_P(QueueHierarchyTest, StatesMarksAndCountsAreThoseOfTheModel) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Hierarchy(seed, GetParam()).Run(60);
  }
}

INSTANTIATE_TEST_SUITE_P(Queues, QueueHierarchyTest, ::testing::Values(1, 5, 30, 200),
                         [](const auto& size) { return std::to_string(size.param); });

}  // namespace
}  // namespace basalt::queuesvc::testing
