#pragma once

// What this replica answers of its own slots, without gRPC: handlers that run on the loops of the workers that own the
// queues. They may be called from any thread; `done` comes on a worker's loop, and is dropped where the worker has
// stopped. UNAVAILABLE: a slot is not open here.
#include "basalt/queue/v1/queue.pb.h"
#include "basalt/queue/v1/queue_part.pb.h"
#include "common/rpc/peers.h"
#include "common/runtime/typed_replica.h"
#include "services/queuesvc/control/queue_controller.h"

namespace basalt::queuesvc {

using QueueWorkers = runtime::Workers<QueueController>;

class QueueApi {
 public:
  // The workers outlive the API.
  explicit QueueApi(QueueWorkers& workers) : workers_(workers) {}

  void Get(const queue::v1::GetQueueRequest& request, rpc::Done<queue::v1::Queue> done);
  void History(const queue::v1::GetQueueHistoryRequest& request, rpc::Done<queue::v1::QueueHistory> done);
  void ListPart(const queue::v1::ListPartRequest& request, rpc::Done<queue::v1::ListPartResponse> done);

 private:
  QueueWorkers& workers_;
};

}  // namespace basalt::queuesvc
