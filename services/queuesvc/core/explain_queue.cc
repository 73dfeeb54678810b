#include "services/queuesvc/core/explain_queue.h"

#include <fmt/format.h>

#include <utility>

#include "common/kube/names.h"
#include "common/kube/object_key.h"
#include "common/kube/timestamp.h"
#include "services/queuesvc/core/queue_state.h"

namespace basalt::queuesvc {
namespace {

using queue::v1::QueueCause;

class Explaining {
 public:
  explicit Explaining(const ExplainFacts& facts)
      : facts_(facts), name_(facts.queue.meta().name()), state_(ParseQueueState(facts.queue.state())) {}

  queue::v1::QueueExplanation Explain() {
    explanation_.set_summary(fmt::format("queue {} is {}", name_, SummaryOfState()));
    AddDeletion();
    AddEntered();
    AddParent();
    AddCommand();
    AddSpec();
    AddPodGroups();
    AddRefusal();
    return std::move(explanation_);
  }

 private:
  std::string SummaryOfState() const {
    switch (state_) {
      case QueueState::kEmpty:
        return "new, and is not opened yet: its jobs wait";
      case QueueState::kOpen:
        return "Open: the scheduler admits its jobs and places their pods";
      case QueueState::kClosed:
        return "Closed: no job is admitted, and no pod is placed";
      case QueueState::kClosing:
        return "Closing: no job is admitted, and no pod is placed; it is Closed once its pod groups are deleted";
      case QueueState::kUnknown:
        return "Unknown: no job is admitted, and no pod is placed, until somebody opens or closes it";
      case QueueState::kInvalid:
        break;
    }
    return fmt::format("'{}', which is no state of a queue: nothing is done until somebody mends status.state",
                       facts_.queue.state());
  }

  QueueCause& Add(QueueCause::Kind kind, std::string subject, std::string message, std::string advice = {}) {
    QueueCause& cause = *explanation_.add_causes();
    cause.set_kind(kind);
    cause.set_subject(std::move(subject));
    cause.set_message(std::move(message));
    cause.set_advice(std::move(advice));
    return cause;
  }

  void AddDeletion() {
    const int64_t since = facts_.queue.meta().deletion_ms();
    if (since == 0) return;
    Add(QueueCause::KIND_DELETION, {}, "it is being deleted, and nothing else is done")
        .set_allocated_since_time(kube::ToTimestamp(since).release());
  }

  void AddEntered() {
    if (facts_.entered_by == nullptr) return;
    const storage::v1::QueueHistoryRecord& entry = *facts_.entered_by;
    const bool needs_hand = IsClosed(state_) && facts_.to_open.empty();
    QueueCause& cause = Add(QueueCause::KIND_STATE, {},
                            fmt::format("state {} -> {}: {}", entry.from_state().empty() ? "-" : entry.from_state(),
                                        entry.to_state(), entry.cause()),
                            needs_hand ? OpenIt(name_) : std::string());
    cause.set_allocated_since_time(kube::ToTimestamp(entry.time_ms()).release());
  }

  void AddParent() {
    if (name_ == kube::kRootQueue || facts_.queue.parent().empty()) return;
    std::string subject = fmt::format("queue {}", facts_.queue.parent());
    if (facts_.is_below_itself) {
      Add(QueueCause::KIND_PARENT, std::move(subject),
          facts_.circle.empty() ? "its parent is below the queue itself, and counts as none" : facts_.circle,
          "name another one in spec.parent");
    } else if (facts_.parent == nullptr) {
      Add(QueueCause::KIND_PARENT, std::move(subject), "its parent does not exist: it is closed and opened by itself",
          "make the parent, or name another one in spec.parent");
    } else if (!facts_.to_open.empty()) {
      std::string advice;
      for (const std::string& queue : facts_.to_open) advice += (advice.empty() ? "" : ", then ") + OpenIt(queue);
      Add(QueueCause::KIND_PARENT, std::move(subject), fmt::format("its parent is {}", facts_.parent->state()),
          fmt::format("{}; queues that were closed with their parent are opened with it", advice));
    }
  }

  void AddCommand() {
    if (facts_.command == nullptr) return;
    const kube::v1::Command& command = *facts_.command;
    const bool waits = LetsCommandWait(facts_.step.kind) && !facts_.step.cause.empty();
    Add(QueueCause::KIND_COMMAND,
        fmt::format("command {}", kube::ObjectKey(command.meta().namespace_(), command.meta().name())),
        fmt::format("{} {}", command.action(), waits ? "waits until the parent is open" : "is being carried out"))
        .set_allocated_since_time(kube::ToTimestamp(command.meta().creation_ms()).release());
  }

  void AddSpec() {
    for (const QueueProblem& problem : facts_.problems) {
      Add(QueueCause::KIND_SPEC, problem.field, problem.rule);
    }
  }

  void AddPodGroups() {
    if (!IsClosed(state_) || facts_.pod_groups == 0) return;
    const bool closing = state_ == QueueState::kClosing;
    Add(QueueCause::KIND_POD_GROUPS, {},
        fmt::format("{} pod groups name it, those among them whose pods are done; {}", facts_.pod_groups,
                    closing ? "it is Closed once they are deleted" : "their pods are not placed while it is Closed"),
        "delete their jobs, or move them to another queue");
  }

  void AddRefusal() {
    if (facts_.record == nullptr || !facts_.record->has_refused()) return;
    const storage::v1::QueueHistoryRecord& refused = facts_.record->refused();
    Add(QueueCause::KIND_REFUSED, {},
        fmt::format("the API server refuses what is to be written of it: {} {}: {}", refused.refusal().code(),
                    refused.refusal().reason(), refused.refusal().message()),
        "mend what the message names; it is tried again")
        .set_allocated_since_time(kube::ToTimestamp(refused.time_ms()).release());
  }

  static std::string OpenIt(std::string_view queue) { return fmt::format("basaltctl queue open {}", queue); }

  const ExplainFacts& facts_;
  const std::string_view name_;
  const QueueState state_;
  queue::v1::QueueExplanation explanation_;
};

}  // namespace

queue::v1::QueueExplanation ExplainQueue(const ExplainFacts& facts) { return Explaining(facts).Explain(); }

}  // namespace basalt::queuesvc
