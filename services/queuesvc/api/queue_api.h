#pragma once

// The calls that this replica answers about its own slots, without gRPC. They may be called from any thread and run on
// the loops of the workers that own the queues. `done` is called on a worker's loop, and is dropped if the worker has
// stopped. UNAVAILABLE if a slot is not open here.
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "basalt/queue/v1/queue.pb.h"
#include "basalt/queue/v1/queue_part.pb.h"
#include "common/rpc/feed.h"
#include "common/rpc/peers.h"
#include "common/runtime/typed_replica.h"
#include "common/watch/watch_hub.h"
#include "services/queuesvc/control/queue_controller.h"
#include "services/queuesvc/core/queue_rules.h"

namespace basalt::queuesvc {

using QueueWorkers = runtime::Workers<QueueController>;

// Reads the members of a manifest that the rules check before the API server gets the manifest: name, annotations,
// parent, weight and resources. INVALID_ARGUMENT names the field if the manifest is not that of a queue with a name, or
// breaks a rule of CheckQueueSpec.
absl::StatusOr<kube::v1::Queue> ReadQueueManifest(const queue::v1::CreateQueueRequest& request);

// FAILED_PRECONDITION if the queue belongs to KAI's scheduler: queuesvc reads such queues and writes none.
absl::Status CheckIsOurs(const std::string& name);

class QueueApi {
 public:
  // The workers outlive the API.
  QueueApi(QueueWorkers& workers, std::shared_ptr<watch::WatchHub> hub) : workers_(workers), hub_(std::move(hub)) {}

  void Get(const queue::v1::GetQueueRequest& request, rpc::Done<queue::v1::Queue> done);
  void History(const queue::v1::GetQueueHistoryRequest& request, rpc::Done<queue::v1::QueueHistory> done);
  // `user_token` belongs to the user whom Kubernetes takes for the writer (WriteRequest.user_token), here and below.
  void Create(queue::v1::CreateQueueRequest request, const std::string& user_token, rpc::Done<queue::v1::Queue> done);
  void Delete(const queue::v1::DeleteQueueRequest& request, const std::string& user_token,
              rpc::Done<queue::v1::DeleteQueueResponse> done);
  void Command(queue::v1::CommandQueueRequest request, const std::string& user_token,
               rpc::Done<queue::v1::CommandQueueResponse> done);
  // The answer to a user lacks the names of pod groups.
  void Explain(const queue::v1::ExplainQueueRequest& request, const std::string& user_token,
               rpc::Done<queue::v1::QueueExplanation> done);
  void ListPart(const queue::v1::ListPartRequest& request, rpc::Done<queue::v1::ListPartResponse> done);
  std::unique_ptr<rpc::Feed<queue::v1::WatchPartResponse>> WatchPart(const queue::v1::WatchPartRequest& request,
                                                                     std::function<void()> notify);

 private:
  QueueWorkers& workers_;
  const std::shared_ptr<watch::WatchHub> hub_;
};

}  // namespace basalt::queuesvc
