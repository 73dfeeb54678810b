#include "services/queuesvc/core/next_step.h"

#include <fmt/format.h>

#include <optional>

#include "common/kube/names.h"

namespace basalt::queuesvc {
namespace {

using Kind = QueueStep::Kind;

// Values of the annotation volcano.sh/closed-by-parent.
constexpr std::string_view kTrue = "true";
constexpr std::string_view kFalse = "false";

bool Differ(const kube::v1::Queue& queue, const queue::v1::PodGroupCounts& counts) {
  return queue.lacks_counts() || queue.pending() != counts.pending() || queue.inqueue() != counts.inqueue() ||
         queue.running() != counts.running() || queue.unknown() != counts.unknown() ||
         queue.completed() != counts.completed();
}

// Whether the command has waited long enough. Requires: there is a command.
bool IsInVain(const QueueFacts& facts) {
  return facts.now_ms >= CommandWaitsUntilMs(facts.command->meta().creation_ms(), facts.command_tried_ms);
}

QueueStep EndCommand(std::string cause, bool is_refused) {
  return {.kind = Kind::kEndCommand, .cause = std::move(cause), .is_refused = is_refused};
}

// Requires: there is a command.
std::string NameOfCommand(const QueueFacts& facts) {
  return fmt::format("command {}/{}", facts.command->meta().namespace_(), facts.command->meta().name());
}

// Returns why nothing may be done with the queue; empty if something may.
std::string WhyNothing(const kube::v1::Queue& queue, QueueState state) {
  if (queue.meta().deletion_ms() != 0) return "the queue is being deleted";
  if (state != QueueState::kInvalid) return {};
  return fmt::format("'{}' in status.state is no state of a queue, and has to be mended first", queue.state());
}

// Whether Volcano's webhook, which may be left on, accepts a write of the spec in that state (weakness Q9).
bool TakesWrites(QueueState state) {
  return state == QueueState::kEmpty || state == QueueState::kOpen || state == QueueState::kClosed;
}

// Requires: the queue exists, is not being deleted, and has a valid state.
class Stepping {
 public:
  Stepping(const QueueFacts& facts, QueueState state, bool needs_parent)
      : facts_(facts),
        state_(state),
        needs_parent_(needs_parent),
        mark_(ClosedByParent(*facts.queue)),
        parent_is_closed_(facts.parent != nullptr && IsClosed(ParseQueueState(facts.parent->state()))) {}

  QueueStep Next() const {
    std::string waits;
    if (facts_.command != nullptr) {
      QueueStep step = OfCommand();
      if (step.kind != Kind::kNothing) return step;
      waits = std::move(step.cause);
    }
    QueueStep step = OfHierarchy().value_or(OfItself());
    if (LetsCommandWait(step.kind)) step.cause = std::move(waits);
    return step;
  }

 private:
  static QueueStep Mark(bool closed_by_parent) {
    return {.kind = Kind::kSetClosedByParent, .closed_by_parent = closed_by_parent};
  }
  QueueStep Become(QueueAction action, std::string cause) const {
    return {.kind = Kind::kApplyState,
            .state = NextState(state_, action, facts_.pod_groups).next,
            .cause = std::move(cause)};
  }
  std::string Named() const { return NameOfCommand(facts_); }

  // A mark that is refused holds up neither this command nor those behind it for long.
  bool IsMarkRefused() const { return facts_.is_refused && IsInVain(facts_); }

  // Returns kNothing if the command waits.
  QueueStep OfCommand() const {
    const kube::v1::Command& command = *facts_.command;
    if (facts_.is_recorded) return EndCommand({}, false);
    if (!command.target().uid().empty() && command.target().uid() != facts_.queue->meta().uid()) {
      return EndCommand(fmt::format("{}: its target is a queue of that name that is gone", Named()), true);
    }
    switch (ParseQueueAction(command.action())) {
      case QueueAction::kOpen:
        return Open();
      case QueueAction::kClose:
        return Close();
      case QueueAction::kSync:
        break;
    }
    if (command.action() == kSyncQueue) return EndCommand(fmt::format("{}: {}", Named(), kSyncQueue), false);
    return EndCommand(fmt::format("{}: action '{}' is none of a queue: {}, {}, {}", Named(), command.action(),
                                  kOpenQueue, kCloseQueue, kSyncQueue),
                      true);
  }

  QueueStep Open() const {
    if (state_ == QueueState::kOpen) {
      if (mark_ != kFalse && !IsMarkRefused()) return Mark(false);
      return EndCommand(fmt::format("{}: the queue is open", Named()), false);
    }
    if (parent_is_closed_) {
      std::string waits = fmt::format("{}: parent {} is {}, and has to be opened first", Named(),
                                      facts_.parent->meta().name(), facts_.parent->state());
      // The parent may be about to open. But it may also stay closed, and a newer command must not wait for that.
      if (facts_.is_superseded || IsInVain(facts_)) return EndCommand(std::move(waits), true);
      return {.cause = std::move(waits)};
    }
    return Become(QueueAction::kOpen, Named());
  }

  QueueStep Close() const {
    if (facts_.name == kube::kRootQueue) return EndCommand(fmt::format("{}: root cannot be closed", Named()), true);
    if (!IsClosed(state_)) return Become(QueueAction::kClose, Named());
    // The parent would open a queue with that mark again, now or later. Whoever closes the queue itself has the last
    // word.
    if (mark_ == kTrue && !IsMarkRefused()) return Mark(false);
    return EndCommand(fmt::format("{}: the queue is {}", Named(), facts_.queue->state()), false);
  }

  // Queue spec 6.4. A queue that somebody closed before its parent is not opened with the parent.
  std::optional<QueueStep> OfHierarchy() const {
    if (facts_.parent == nullptr) return std::nullopt;
    const std::string& parent = facts_.parent->meta().name();
    if (parent_is_closed_ && !IsClosed(state_)) {
      if (mark_ != kTrue) return Mark(true);
      return Become(QueueAction::kClose, fmt::format("its parent {} is {}", parent, facts_.parent->state()));
    }
    if (mark_ != kTrue || ParseQueueState(facts_.parent->state()) != QueueState::kOpen) return std::nullopt;
    if (IsClosed(state_)) return Become(QueueAction::kOpen, fmt::format("its parent {} is open again", parent));
    if (state_ == QueueState::kOpen) return Mark(false);
    return std::nullopt;
  }

  QueueStep OfItself() const {
    // A refused write of the parent holds up nothing else.
    if (needs_parent_ && !facts_.parent_waits) return {.kind = Kind::kSetParent};
    const QueueState next = NextState(state_, QueueAction::kSync, facts_.pod_groups).next;
    if (next != state_) {
      return Become(QueueAction::kSync,
                    next == QueueState::kOpen ? "a new queue is opened" : "its last pod group is gone");
    }
    if (facts_.counts != nullptr && Differ(*facts_.queue, *facts_.counts)) return {.kind = Kind::kApplyCounts};
    return {.kind = needs_parent_ ? Kind::kSetParent : Kind::kNothing};
  }

  const QueueFacts& facts_;
  const QueueState state_;
  const bool needs_parent_;
  const std::string_view mark_;
  const bool parent_is_closed_;
};

}  // namespace

std::string_view ClosedByParent(const kube::v1::Queue& queue) {
  for (const kube::v1::KeyValue& annotation : queue.meta().annotations()) {
    if (annotation.key() == kube::kClosedByParentKey) return annotation.value();
  }
  return {};
}

QueueStep NextStep(const QueueFacts& facts) {
  if (facts.queue == nullptr) {
    if (facts.is_made) return {.kind = Kind::kCreate};
    if (facts.command == nullptr || !IsInVain(facts)) return {};
    return {.kind = Kind::kEndCommand, .cause = "there is no queue of that name", .is_refused = true};
  }
  const kube::v1::Queue& queue = *facts.queue;
  const QueueState state = ParseQueueState(queue.state());
  if (const std::string why = WhyNothing(queue, state); !why.empty()) {
    const bool is_deleted = queue.meta().deletion_ms() != 0;
    if (facts.command == nullptr) return {.kind = is_deleted ? Kind::kNothing : Kind::kInvalid};
    if (facts.is_recorded) return EndCommand({}, false);
    return EndCommand(fmt::format("{}: {}", NameOfCommand(facts), why), true);
  }
  const bool needs_parent = facts.name != kube::kRootQueue && queue.parent().empty();
  return Stepping(facts, state, needs_parent && TakesWrites(state)).Next();
}

bool IsKept(const QueueStep& step, const queue::v1::PodGroupCounts& counts, const kube::v1::Queue& answer) {
  switch (step.kind) {
    case Kind::kSetParent:
      return !answer.parent().empty();
    case Kind::kApplyState:
      return ParseQueueState(answer.state()) == step.state;
    case Kind::kApplyCounts:
      return !Differ(answer, counts);
    case Kind::kSetClosedByParent:
      return ClosedByParent(answer) == (step.closed_by_parent ? kTrue : kFalse);
    case Kind::kNothing:
    case Kind::kInvalid:
    case Kind::kCreate:
    case Kind::kEndCommand:
      break;
  }
  return true;
}

std::string_view WrittenBy(const QueueStep& step) {
  switch (step.kind) {
    case Kind::kSetParent:
      return "spec.parent";
    case Kind::kApplyState:
      return "status.state";
    case Kind::kApplyCounts:
      return "status: the counts of pod groups";
    case Kind::kSetClosedByParent:
      return "metadata.annotations: volcano.sh/closed-by-parent";
    case Kind::kNothing:
    case Kind::kInvalid:
    case Kind::kCreate:
    case Kind::kEndCommand:
      break;
  }
  return "";
}

}  // namespace basalt::queuesvc
