#pragma once

// Makes the Events about a queue: for each change of its state by this service, and for whatever cannot be done
// (queue spec 7.2, weakness Q11). Pure.
#include <optional>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/queue_record.pb.h"
#include "common/kube/event.h"

namespace basalt::queuesvc {

// Returns the Event for a new history entry; nullopt if the entry is not worth an Event, such as the opening of a new
// queue.
std::optional<kube::Event> EventOf(const storage::v1::QueueHistoryRecord& entry, const kube::v1::ObjectMeta& queue);

}  // namespace basalt::queuesvc
