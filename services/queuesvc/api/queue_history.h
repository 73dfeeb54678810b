#pragma once

// Makes the history of a queue for clients from its records. Runs on the loop of the queue.
#include "absl/status/statusor.h"
#include "basalt/queue/v1/queue.pb.h"
#include "basalt/storage/v1/queue_record.pb.h"
#include "services/queuesvc/control/queue_records.h"

namespace basalt::queuesvc {

queue::v1::QueueHistoryEntry ToMessage(const storage::v1::QueueHistoryRecord& record);

// `present` is the record of the queue that has the name now; null if there is no such queue or no record of it.
// NOT_FOUND if no queue of that name and UID has a history.
absl::StatusOr<queue::v1::QueueHistory> HistoryOf(QueueRecords& records, const storage::v1::QueueRecord* present,
                                                  const queue::v1::GetQueueHistoryRequest& request);

}  // namespace basalt::queuesvc
