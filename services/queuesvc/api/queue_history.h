#pragma once

// What a queue's records say to clients. On the loop of the queue.
#include "absl/status/statusor.h"
#include "basalt/queue/v1/queue.pb.h"
#include "basalt/storage/v1/queue_record.pb.h"
#include "services/queuesvc/control/queue_records.h"

namespace basalt::queuesvc {

queue::v1::QueueHistoryEntry ToMessage(const storage::v1::QueueHistoryRecord& record);

// `present`: of the queue that has the name now, null: there is none, or nothing is recorded of it. NOT_FOUND: no such
// queue has a history.
absl::StatusOr<queue::v1::QueueHistory> HistoryOf(QueueRecords& records, const storage::v1::QueueRecord* present,
                                                  const queue::v1::GetQueueHistoryRequest& request);

}  // namespace basalt::queuesvc
