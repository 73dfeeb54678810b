#pragma once

// What of a queue is worth a record: for people alone, nothing is decided by it. A decision is recorded when it is
// made, and its history entry is written once the queue is seen to be as it was meant to be; whoever comes next tells
// the same. Counts are kept as they were last written, in no entry of their own; a refusal is one entry, however often
// it is repeated. Pure.
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

// One look at one queue. The calls come in the order in which they stand here.
class QueueAccount {
 public:
  using Entry = storage::v1::QueueHistoryRecord;

  // `record` outlives it, and is of the queue that is there now. `counts`: of its pod groups.
  QueueAccount(storage::v1::QueueRecord& record, const queue::v1::PodGroupCounts& counts, int64_t now_ms)
      : record_(record), counts_(counts), now_ms_(now_ms) {}

  // It was made by us.
  void NoteCreated();
  // A write of ours was refused with these words, or accepted.
  void NoteRefused(const gateway::v1::KubeError& error);
  void NoteAccepted() { EndRefusal(); }
  // What its spec breaks the rules by, as a text for people; empty: nothing. A text is told once.
  void NoteSpec(std::string_view warning);
  // As it is now.
  void See(const kube::v1::Queue& queue);
  // What is to be done next; not while a write is under way, which may still take effect. `is_sent`: now, so that the
  // counts that it says are the last.
  void Decide(const QueueStep& step, bool is_sent);

  // The Command is done, or refused, which is told once. It is to be deleted after that: a Command that was seen to
  // end is not carried out again.
  void EndCommand(const QueueStep& step, const kube::v1::Command& command);
  static bool IsEnded(const storage::v1::QueueRecord& record, const kube::v1::Command& command);
  // What is remembered of Commands that are not there any more goes. `is_there` is asked about UIDs.
  void KeepEndedOf(const std::function<bool(const std::string& uid)>& is_there);

  // Whether the record has changed.
  bool changed() const { return changed_; }
  // Entries to be written that are new, and one that replaces that of the same number.
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
