#pragma once

// The traits by which queues are listed over workers and replicas (common/rpc/list_part.h).
#include <string>

#include "basalt/queue/v1/queue_part.pb.h"
#include "common/kube/kinds.h"
#include "common/kube/object_key.h"

namespace basalt::queuesvc {

struct QueueList {
  using Item = queue::v1::Queue;
  using Page = queue::v1::ListQueuesResponse;
  using Part = queue::v1::ListPartResponse;
  using PartRequest = queue::v1::ListPartRequest;

  static auto& Items(Part& part) { return *part.mutable_queues(); }
  static auto& Items(Page& page) { return *page.mutable_queues(); }
  static std::string GroupOf(const Item& queue) { return queue.has_kai() ? std::string(kube::kKaiQueues.group) : ""; }
  static std::string KeyOf(const Item& queue) {
    return queue.has_kai() ? kube::KaiQueueKey(queue.kai().object().meta().name()) : queue.object().meta().name();
  }
};

}  // namespace basalt::queuesvc
