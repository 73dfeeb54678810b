// Target: queues in a hierarchy, which people edit, open and close while pod groups come and go. Each step of NextStep
// changes something, and the steps come to an end.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/kube/names.h"
#include "services/queuesvc/core/next_step.h"
#include "tests/fuzz/input.h"

namespace basalt::queuesvc {
namespace {

using fuzz::Input;
using fuzz::Require;
using Kind = QueueStep::Kind;

constexpr std::string_view kWords[] = {
    "",          "root",       "a",         "b",     "c",     "Open",
    "Closed",    "Closing",    "Unknown",   "Ajar",  "true",  "false",
    "OpenQueue", "CloseQueue", "SyncQueue", "a-uid", "b-uid", "volcano.sh/closed-by-parent"};
constexpr std::string_view kNames[] = {"root", "a", "b", "c"};

class World {
 public:
  explicit World(Input& input) : input_(input) {}

  void Run() {
    while (!input_.empty()) {
      Happen();
      ComeToRest();
    }
    // A command that waits expires in the end. Only then does the next command of the queue begin to wait.
    for (size_t commands = Commands(); commands > 0; --commands) {
      now_ms_ += kCommandWaitsMs;
      ComeToRest();
    }
    for (const auto& [name, entry] : entries_) {
      Require(entry.commands.empty(), "a command ends");
      const kube::v1::Queue* const parent = ParentOf(entry);
      if (parent == nullptr || !entry.queue || entry.queue->meta().deletion_ms() != 0) continue;
      const QueueState state = ParseQueueState(entry.queue->state());
      Require(!IsClosed(ParseQueueState(parent->state())) || IsClosed(state) || state == QueueState::kInvalid,
              "a queue below one that is closed is closed");
    }
  }

 private:
  struct Entry {
    std::optional<kube::v1::Queue> queue;
    std::vector<kube::v1::Command> commands;  // The oldest is first.
    int64_t tried_ms = 0;                     // When the first command was first tried.
    bool is_recorded = false;                 // Whether the first command is recorded.
    int64_t pod_groups = 0;
    queue::v1::PodGroupCounts counts;
    bool is_refused = false;
  };

  // Makes one change that comes from others.
  void Happen() {
    Entry& entry = entries_[std::string(kNames[input_.Below(std::size(kNames))])];
    switch (input_.Below(8)) {
      case 0:
        if (!entry.queue) Make(entry);
        return input_.Change(*entry.queue);
      case 1:
        if (!entry.queue) Make(entry);
        return entry.queue->set_state(input_.Text());
      case 2:
        if (!entry.queue) Make(entry);
        return entry.queue->set_parent(input_.Text());
      case 3:
        return entry.queue.reset();
      case 4:
        entry.pod_groups = input_.Below(3);
        entry.counts.set_running(static_cast<int32_t>(entry.pod_groups));
        return;
      case 5:
        now_ms_ += input_.Below(60'000);
        return;
      case 6:
        entry.is_refused = input_.OneIn(2);
        return;
      default:
        kube::v1::Command& command = entry.commands.emplace_back();
        command.set_action(input_.OneIn(4) ? input_.Text() : std::string(input_.OneIn(2) ? kOpenQueue : kCloseQueue));
        command.mutable_meta()->set_name("c");
        command.mutable_meta()->set_creation_ms(now_ms_ - input_.Below(1000));
        if (input_.OneIn(4)) command.mutable_target()->set_uid(input_.Text());
    }
  }

  void Make(Entry& entry) {
    entry.queue.emplace();
    entry.queue->set_lacks_counts(true);
    entry.queue->mutable_meta()->set_uid(input_.Text());
  }

  // Takes steps until no queue has anything to do. Each queue is opened or closed once by its parent and once by each
  // command, with a mark before, and gets its parent and its counts.
  void ComeToRest() {
    const size_t most = 8 * (entries_.size() + 1) * (Commands() + 1);
    size_t steps = 0;
    for (bool is_at_rest = false; !is_at_rest;) {
      is_at_rest = true;
      for (auto& [name, entry] : entries_) {
        while (Step(name, entry)) {
          is_at_rest = false;
          Require(++steps <= most, "the steps of queues come to an end");
        }
      }
    }
  }

  size_t Commands() const {
    size_t commands = 0;
    for (const auto& [name, entry] : entries_) commands += entry.commands.size();
    return commands;
  }

  // Finds the parent as the controller does. Null if there is no parent, or if the parent is below the queue itself.
  const kube::v1::Queue* ParentOf(const Entry& entry) const {
    if (!entry.queue) return nullptr;
    const kube::v1::Queue* const parent = Above(*entry.queue);
    const kube::v1::Queue* above = parent;
    for (size_t i = 0; above != nullptr && i <= std::size(kNames); ++i, above = Above(*above)) {
      if (above == &*entry.queue) return nullptr;
    }
    return parent;
  }
  const kube::v1::Queue* Above(const kube::v1::Queue& queue) const {
    const auto root = entries_.find(std::string(kube::kRootQueue));
    if (root != entries_.end() && root->second.queue && &*root->second.queue == &queue) return nullptr;
    const auto parent = entries_.find(queue.parent());
    return parent == entries_.end() || !parent->second.queue ? nullptr : &*parent->second.queue;
  }

  // Takes the queue's next step. Returns false if there is none.
  bool Step(const std::string& name, Entry& entry) {
    if (!entry.commands.empty() && entry.tried_ms == 0) entry.tried_ms = now_ms_;
    const QueueFacts facts{.name = name,
                           .queue = entry.queue ? &*entry.queue : nullptr,
                           .parent = ParentOf(entry),
                           .command = entry.commands.empty() ? nullptr : &entry.commands.front(),
                           .command_tried_ms = entry.tried_ms,
                           .is_recorded = entry.is_recorded,
                           .is_superseded = entry.commands.size() > 1,
                           .now_ms = now_ms_,
                           .is_made = name == kube::kRootQueue,
                           .is_refused = entry.is_refused,
                           .pod_groups = entry.pod_groups,
                           .counts = &entry.counts};
    const QueueStep step = NextStep(facts);
    const QueueStep again = NextStep(facts);
    Require(step.kind == again.kind && step.state == again.state && step.cause == again.cause &&
                step.closed_by_parent == again.closed_by_parent && step.is_refused == again.is_refused,
            "the next step follows from what is there");
    const bool writes = step.kind == Kind::kSetParent || step.kind == Kind::kApplyState ||
                        step.kind == Kind::kApplyCounts || step.kind == Kind::kSetClosedByParent;
    Require(!writes || entry.queue, "a queue is there that is written");
    Require(!writes || !IsKept(step, entry.counts, *entry.queue), "a step changes something");
    Require(!writes || entry.queue->meta().deletion_ms() == 0, "a queue that is being deleted is left alone");
    if (!Carry(name, step, entry)) return false;
    Require(!writes || IsKept(step, entry.counts, *entry.queue), "a step has changed what it is to change");
    return true;
  }

  bool Carry(const std::string& name, const QueueStep& step, Entry& entry) {
    switch (step.kind) {
      case Kind::kNothing:
      case Kind::kInvalid:
        return false;
      case Kind::kCreate:
        Require(!entry.queue, "a queue that is there is not made");
        Make(entry);
        entry.queue->mutable_meta()->set_name(name);
        return true;
      case Kind::kSetParent:
        entry.queue->set_parent(std::string(kube::kRootQueue));
        return true;
      case Kind::kApplyState:
        Require(step.state != QueueState::kInvalid && step.state != QueueState::kEmpty,
                "a state is written that is one");
        entry.queue->set_state(std::string(FormatQueueState(step.state)));
        return true;
      case Kind::kApplyCounts:
        entry.queue->set_lacks_counts(false);
        entry.queue->set_pending(entry.counts.pending());
        entry.queue->set_inqueue(entry.counts.inqueue());
        entry.queue->set_running(entry.counts.running());
        entry.queue->set_unknown(entry.counts.unknown());
        entry.queue->set_completed(entry.counts.completed());
        return true;
      case Kind::kSetClosedByParent: {
        auto& annotations = *entry.queue->mutable_meta()->mutable_annotations();
        const auto is_mark = [](const auto& pair) { return pair.key() == kube::kClosedByParentKey; };
        annotations.erase(std::remove_if(annotations.begin(), annotations.end(), is_mark), annotations.end());
        kube::v1::KeyValue& mark = *annotations.Add();
        mark.set_key(std::string(kube::kClosedByParentKey));
        mark.set_value(step.closed_by_parent ? "true" : "false");
        return true;
      }
      case Kind::kEndCommand:
        Require(!entry.commands.empty(), "a command is there that ends");
        if (std::exchange(entry.is_recorded, !entry.is_recorded)) {
          entry.commands.erase(entry.commands.begin());
          entry.tried_ms = 0;
        }
        return true;
    }
    return false;
  }

  Input& input_;
  std::map<std::string, Entry> entries_;
  int64_t now_ms_ = 1'000'000;
};

}  // namespace
}  // namespace basalt::queuesvc

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  basalt::fuzz::Input input(data, size, basalt::queuesvc::kWords);
  basalt::queuesvc::World(input).Run();
  return 0;
}
