#include "services/queuesvc/api/queue_history.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/kinds.h"
#include "common/kube/timestamp.h"
#include "common/rpc/error_details.h"

namespace basalt::queuesvc {

using queue::v1::QueueHistoryEntry;
using storage::v1::QueueHistoryRecord;

static_assert(int{QueueHistoryEntry::KIND_CREATED} == int{QueueHistoryRecord::KIND_CREATED});
static_assert(int{QueueHistoryEntry::KIND_PARENT_SET} == int{QueueHistoryRecord::KIND_PARENT_SET});
static_assert(int{QueueHistoryEntry::KIND_STATE_CHANGED} == int{QueueHistoryRecord::KIND_STATE_CHANGED});
static_assert(int{QueueHistoryEntry::KIND_STATE_OBSERVED} == int{QueueHistoryRecord::KIND_STATE_OBSERVED});
static_assert(int{QueueHistoryEntry::KIND_REFUSED} == int{QueueHistoryRecord::KIND_REFUSED});
static_assert(int{QueueHistoryEntry::KIND_COMMAND_DONE} == int{QueueHistoryRecord::KIND_COMMAND_DONE});
static_assert(int{QueueHistoryEntry::KIND_COMMAND_REFUSED} == int{QueueHistoryRecord::KIND_COMMAND_REFUSED});
static_assert(int{QueueHistoryEntry::KIND_SPEC_WARNING} == int{QueueHistoryRecord::KIND_SPEC_WARNING});

QueueHistoryEntry ToMessage(const QueueHistoryRecord& record) {
  QueueHistoryEntry entry;
  entry.set_sequence(record.sequence());
  entry.set_allocated_time(kube::ToTimestamp(record.time_ms()).release());
  entry.set_kind(static_cast<QueueHistoryEntry::Kind>(record.kind()));
  entry.set_from_state(record.from_state());
  entry.set_to_state(record.to_state());
  entry.set_cause(record.cause());
  entry.set_committed(record.committed());
  *entry.mutable_counts() = record.counts();
  if (record.has_refusal()) {
    entry.mutable_refusal()->set_code(record.refusal().code());
    entry.mutable_refusal()->set_reason(record.refusal().reason());
    entry.mutable_refusal()->set_message(record.refusal().message());
  }
  entry.set_allocated_end_time(kube::ToTimestamp(record.end_ms()).release());
  entry.set_command(record.command());
  return entry;
}

absl::StatusOr<queue::v1::QueueHistory> HistoryOf(QueueRecords& records, const storage::v1::QueueRecord* present,
                                                  const queue::v1::GetQueueHistoryRequest& request) {
  // The index travels behind the record when its slot moves, and may not have arrived yet.
  const bool is_present = present != nullptr && (request.uid().empty() || request.uid() == present->uid());
  BASALT_ASSIGN_OR_RETURN(const auto queues, records.QueuesOf(request.name()));
  const std::string& wanted = is_present ? present->uid() : request.uid();
  const auto queue = std::find_if(queues.rbegin(), queues.rend(),
                                  [&](const auto& record) { return wanted.empty() || record.uid() == wanted; });
  if (queue == queues.rend() && !is_present) {
    return rpc::WithResource(
        MakeStatus(absl::StatusCode::kNotFound, fmt::format("there is no history of a queue {}{}{}", request.name(),
                                                            request.uid().empty() ? "" : " with UID ", request.uid())),
        kube::kQueues, request.name());
  }
  queue::v1::QueueHistory history;
  history.set_uid(is_present ? present->uid() : queue->uid());
  if (queue != queues.rend()) history.set_allocated_gone_time(kube::ToTimestamp(queue->gone_ms()).release());
  BASALT_ASSIGN_OR_RETURN(const auto entries, records.EntriesOf(request.name(), history.uid()));
  for (const QueueHistoryRecord& entry : entries) *history.add_entries() = ToMessage(entry);
  if (!is_present) return history;
  if (present->has_pending()) *history.add_entries() = ToMessage(present->pending());
  std::sort(history.mutable_entries()->begin(), history.mutable_entries()->end(),
            [](const auto& a, const auto& b) { return a.sequence() < b.sequence(); });
  if (present->counts_ms() == 0) return history;
  *history.mutable_counts() = present->counts();
  history.set_allocated_counts_time(kube::ToTimestamp(present->counts_ms()).release());
  return history;
}

}  // namespace basalt::queuesvc
