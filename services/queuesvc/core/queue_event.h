#pragma once

// What the Events of a queue tell: each change of its state that is ours, and what cannot be done (queue spec 7.2,
// weakness Q11). Pure.
#include <optional>

#include "basalt/kube/v1/kube.pb.h"
#include "basalt/storage/v1/queue_record.pb.h"
#include "common/kube/event.h"

namespace basalt::queuesvc {

// Of an entry that history newly has; nullopt: the entry is not worth an Event, as that a new queue is opened.
std::optional<kube::Event> EventOf(const storage::v1::QueueHistoryRecord& entry, const kube::v1::ObjectMeta& queue);

}  // namespace basalt::queuesvc
