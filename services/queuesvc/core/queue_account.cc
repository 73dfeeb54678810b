#include "services/queuesvc/core/queue_account.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "common/kube/names.h"
#include "common/kube/object_key.h"

namespace basalt::queuesvc {
namespace {

using Entry = QueueAccount::Entry;

// How the step is recorded for people. A step that changes counts alone has no meaning.
struct Meaning {
  Entry::Kind kind;
  std::string to_state;
  std::string cause;
};

std::optional<Meaning> MeaningOf(const QueueStep& step, std::string_view state) {
  switch (step.kind) {
    case QueueStep::Kind::kSetParent:
      return Meaning{Entry::KIND_PARENT_SET, std::string(state), "it had no parent"};
    case QueueStep::Kind::kApplyState: {
      std::string next(FormatQueueState(step.state));
      if (next == state) return std::nullopt;
      return Meaning{Entry::KIND_STATE_CHANGED, std::move(next), step.cause};
    }
    case QueueStep::Kind::kNothing:
    case QueueStep::Kind::kInvalid:
    case QueueStep::Kind::kCreate:
    case QueueStep::Kind::kApplyCounts:
    case QueueStep::Kind::kSetClosedByParent:
    case QueueStep::Kind::kEndCommand:
      break;
  }
  return std::nullopt;
}

bool AreSame(const queue::v1::PodGroupCounts& a, const queue::v1::PodGroupCounts& b) {
  return a.pending() == b.pending() && a.inqueue() == b.inqueue() && a.running() == b.running() &&
         a.unknown() == b.unknown() && a.completed() == b.completed();
}

}  // namespace

// No number is used twice, even if the record is lost and older entries are found again.
Entry QueueAccount::MakeEntry(Entry::Kind kind, std::string_view cause) {
  record_.set_sequence(std::max(record_.sequence() + 1, now_ms_));
  changed_ = true;
  Entry entry;
  entry.set_sequence(record_.sequence());
  entry.set_time_ms(now_ms_);
  entry.set_kind(kind);
  entry.set_from_state(record_.state());
  entry.set_to_state(record_.state());
  entry.set_cause(std::string(cause));
  *entry.mutable_counts() = counts_;
  return entry;
}

void QueueAccount::Add(Entry entry) {
  entry.set_committed(true);
  entries_.push_back(std::move(entry));
}

void QueueAccount::Commit() {
  Add(std::move(*record_.mutable_pending()));
  DropPending();
}

void QueueAccount::DropPending() {
  if (!record_.has_pending()) return;
  record_.clear_pending();
  changed_ = true;
}

void QueueAccount::EndRefusal() {
  if (!record_.has_refused()) return;
  record_.mutable_refused()->set_end_ms(now_ms_);
  replaced_.push_back(std::move(*record_.mutable_refused()));
  record_.clear_refused();
  changed_ = true;
}

void QueueAccount::NoteCreated() { Add(MakeEntry(Entry::KIND_CREATED, "there was none of that name")); }

void QueueAccount::NoteRefused(const gateway::v1::KubeError& error) {
  const Entry::Refusal& recorded = record_.refused().refusal();
  const bool is_recorded = record_.has_refused() && recorded.code() == error.code() &&
                           recorded.reason() == error.reason() && recorded.message() == error.message();
  if (is_recorded) return;
  EndRefusal();
  Entry entry = MakeEntry(Entry::KIND_REFUSED, record_.pending().cause());
  if (record_.has_pending()) entry.set_to_state(record_.pending().to_state());
  Entry::Refusal& refusal = *entry.mutable_refusal();
  refusal.set_code(error.code());
  refusal.set_reason(error.reason());
  refusal.set_message(error.message());
  *record_.mutable_refused() = entry;
  entries_.push_back(std::move(entry));
}

void QueueAccount::NoteSpec(std::string_view warning) {
  if (record_.spec_warning() == warning) return;
  record_.set_spec_warning(std::string(warning));
  changed_ = true;
  if (!warning.empty()) Add(MakeEntry(Entry::KIND_SPEC_WARNING, warning));
}

void QueueAccount::See(const kube::v1::Queue& queue) {
  const bool sets_parent = record_.pending().kind() == Entry::KIND_PARENT_SET;
  if (sets_parent && queue.parent() == kube::kRootQueue) Commit();
  if (queue.state() == record_.state()) return;
  const bool is_meant =
      record_.pending().kind() == Entry::KIND_STATE_CHANGED && record_.pending().to_state() == queue.state();
  if (is_meant) {
    Commit();
  } else {
    Entry entry = MakeEntry(Entry::KIND_STATE_OBSERVED, "somebody else wrote it");
    entry.set_to_state(queue.state());
    Add(std::move(entry));
    DropPending();
  }
  record_.set_state(queue.state());
  changed_ = true;
}

bool QueueAccount::IsEnded(const storage::v1::QueueRecord& record, const kube::v1::Command& command) {
  const auto& ended = record.ended_commands();
  return std::find(ended.begin(), ended.end(), command.meta().uid()) != ended.end();
}

void QueueAccount::EndCommand(const QueueStep& step, const kube::v1::Command& command) {
  if (IsEnded(record_, command)) return;
  Entry entry = MakeEntry(step.is_refused ? Entry::KIND_COMMAND_REFUSED : Entry::KIND_COMMAND_DONE, step.cause);
  entry.set_command(kube::ObjectKey(command.meta().namespace_(), command.meta().name()));
  Add(std::move(entry));
  record_.add_ended_commands(command.meta().uid());
}

void QueueAccount::KeepEndedOf(const std::function<bool(const std::string& uid)>& is_there) {
  auto& ended = *record_.mutable_ended_commands();
  const auto gone = std::remove_if(ended.begin(), ended.end(), std::not_fn(is_there));
  if (gone == ended.end()) return;
  ended.erase(gone, ended.end());
  changed_ = true;
}

void QueueAccount::Decide(const QueueStep& step, bool is_sent) {
  const bool is_idle = step.kind == QueueStep::Kind::kNothing || step.kind == QueueStep::Kind::kInvalid;
  if (is_idle) EndRefusal();
  if (const std::optional<Meaning> meaning = MeaningOf(step, record_.state()); !meaning) {
    // While the parent waits for its next try, counts are written: the parent's decision still stands.
    const bool waits = step.kind == QueueStep::Kind::kApplyCounts && record_.pending().kind() == Entry::KIND_PARENT_SET;
    if (!waits) DropPending();
  } else if (record_.pending().kind() != meaning->kind || record_.pending().to_state() != meaning->to_state) {
    Entry entry = MakeEntry(meaning->kind, meaning->cause);
    entry.set_to_state(meaning->to_state);
    *record_.mutable_pending() = std::move(entry);
  }
  const bool says_counts = step.kind == QueueStep::Kind::kApplyCounts && is_sent;
  if (!says_counts || (record_.counts_ms() != 0 && AreSame(record_.counts(), counts_))) return;
  *record_.mutable_counts() = counts_;
  record_.set_counts_ms(now_ms_);
  changed_ = true;
}

}  // namespace basalt::queuesvc
