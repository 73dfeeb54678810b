#pragma once

// Decides which facts about a queue are recorded. The records are for people; only ended Commands and a lasting refusal
// enter later decisions (core/next_step.h). A decision is recorded when it is made, and its history entry is written
// once the queue is observed in the decided state; a later owner writes the same entry. Counts are recorded as they
// were last written, without entries of their own. A refusal is one entry, however often it is repeated. Pure.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "basalt/queue/v1/queue.pb.h"
#include "basalt/storage/v1/queue_record.pb.h"
#include "services/queuesvc/core/next_step.h"

namespace basalt::queuesvc {

// The records of one pass over one queue. The methods are called in the order of their declarations.
class QueueAccount {
 public:
  using Entry = storage::v1::QueueHistoryRecord;

  // `record` outlives the account and belongs to the queue that exists now. `counts` are those of its pod groups.
  QueueAccount(storage::v1::QueueRecord& record, const queue::v1::PodGroupCounts& counts, int64_t now_ms)
      : record_(record), counts_(counts), now_ms_(now_ms) {}

  // This service has created the queue.
  void NoteCreated();
  // The API server has refused a write to the queue with this error, or accepted one.
  void NoteRefused(const gateway::v1::KubeError& error);
  void NoteAccepted() { EndRefusal(); }
  // `warning` is a text for people about the rules that the spec breaks; empty if it breaks none. A warning is recorded
  // once.
  void NoteSpec(std::string_view warning);
  // `queue` is the queue as it is now.
  void See(const kube::v1::Queue& queue);
  // `step` is the next step. Not called while a write is in flight, which may still take effect. `is_sent`: the step is
  // sent now, so that its counts are the last that were written.
  void Decide(const QueueStep& step, bool is_sent);

  // Records, once, that the Command is done or refused. The Command is deleted after that: a Command that is recorded
  // as ended is not carried out again.
  void EndCommand(const QueueStep& step, const kube::v1::Command& command);
  static bool IsEnded(const storage::v1::QueueRecord& record, const kube::v1::Command& command);
  // Forgets ended Commands that do not exist any more. `is_there` is called with UIDs.
  void KeepEndedOf(const std::function<bool(const std::string& uid)>& is_there);

  // Whether the record has changed.
  bool changed() const { return changed_; }
  // Entries to write: the new ones, and those that replace the entry of the same number.
  const std::vector<Entry>& entries() const { return entries_; }
  const std::vector<Entry>& replaced() const { return replaced_; }

 private:
  Entry MakeEntry(Entry::Kind kind, std::string_view cause);
  void Add(Entry entry);
  void Commit();
  void DropPending();
  void EndRefusal();

  storage::v1::QueueRecord& record_;
  const queue::v1::PodGroupCounts& counts_;
  const int64_t now_ms_;
  bool changed_ = false;
  std::vector<Entry> entries_;
  std::vector<Entry> replaced_;
};

}  // namespace basalt::queuesvc
