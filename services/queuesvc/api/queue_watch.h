#pragma once

// The traits of the watch of queues (common/rpc/watch/merged_watch.h, common/runtime/watch/watch_part.h).
#include <cstdint>
#include <functional>
#include <string>

#include "basalt/queue/v1/queue_part.pb.h"
#include "common/kube/kinds.h"
#include "common/kube/object_key.h"
#include "common/runtime/watch/publisher.h"
#include "common/watch/watch_hub.h"
#include "services/queuesvc/control/queue_controller.h"

namespace basalt::queuesvc {

struct WatchedQueues {
  using Request = queue::v1::WatchQueuesRequest;
  using Response = queue::v1::WatchQueuesResponse;
  using PartRequest = queue::v1::WatchPartRequest;
  using PartResponse = queue::v1::WatchPartResponse;
  using Object = queue::v1::Queue;
  using Controller = QueueController;

  // Queues of KAI's scheduler are watched beside Volcano's.
  static constexpr std::string_view kOtherGroup = kube::kKaiQueues.group;
  static bool IsOfOtherGroup(const Response& response) {
    const auto& meta = response.queue().object().meta();
    // A queue that is gone has only its key.
    return response.queue().has_kai() || kube::IsKaiQueueKey(kube::ObjectKey(meta.namespace_(), meta.name()));
  }

  static void MoveObject(PartResponse& part, Response& response) {
    response.mutable_queue()->Swap(part.mutable_queue());
  }
  static void CopyObject(const google::protobuf::Message& queue, PartResponse& part) {
    part.mutable_queue()->CopyFrom(queue);
  }

  static watch::WatchHub::Message Make(Controller& controller, const std::string& name);
};

}  // namespace basalt::queuesvc
