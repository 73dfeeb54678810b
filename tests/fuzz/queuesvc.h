#pragma once

// queuesvc for ServiceRun: its controller, the calls of its clients, and its records.
#include <memory>
#include <string>
#include <utility>

#include "common/runtime/typed_replica.h"
#include "common/runtime/watch/watch_part.h"
#include "services/queuesvc/api/queue_api.h"
#include "services/queuesvc/api/queue_watch.h"
#include "services/queuesvc/store/queue_store.h"
#include "tests/fuzz/service.h"

namespace basalt::fuzz {

class QueuesvcRun final : public ServiceRun {
 public:
  explicit QueuesvcRun(Input& input) : ServiceRun(input, gateway::v1::SERVICE_KIND_QUEUE) {}

 private:
  std::unique_ptr<runtime::Controller> MakeController(runtime::Context& context) override {
    auto controller = std::make_unique<queuesvc::QueueController>(context, nullptr, queuesvc::QueueControllerOptions());
    runtime::PublishChanges<queuesvc::WatchedQueues>(*controller, *hub_);
    return controller;
  }
  void MakeApi(runtime::Replica& replica) override {
    workers_ = std::make_unique<runtime::TypedReplica<queuesvc::QueueController>>(replica);
    api_ = std::make_unique<queuesvc::QueueApi>(*workers_, hub_);
  }
  void DropApi() override { api_.reset(); }

  void Call() override {
    using namespace queue::v1;  // NOLINT: only messages.
    switch (input().Below(8)) {
      case 0:
        return api_->Get(Asked<GetQueueRequest>(), Ignored<Queue>());
      case 1:
        return api_->History(Asked<GetQueueHistoryRequest>(), Ignored<QueueHistory>());
      case 2:
        return api_->Create(Asked<CreateQueueRequest>(), AnyUserToken(), Ignored<Queue>());
      case 3:
        return api_->Delete(Asked<DeleteQueueRequest>(), AnyUserToken(), Ignored<DeleteQueueResponse>());
      case 4:
        return api_->Command(Asked<CommandQueueRequest>(), AnyUserToken(), Ignored<CommandQueueResponse>());
      case 5:
        return api_->Explain(Asked<ExplainQueueRequest>(), AnyUserToken(), Ignored<QueueExplanation>());
      case 6:
        return api_->ListPart(Asked<ListPartRequest>(), Ignored<ListPartResponse>());
      default:
        return Drain(api_->WatchPart(Asked<WatchPartRequest>(), [] {}));
    }
  }

  void PutRecord(uint32_t slot, const std::string& key, kv::WriteBatch& batch) override {
    switch (input().Below(4)) {
      case 0:
        return queuesvc::QueueHistories::Put(slot, input().Text(), input().Make<storage::v1::QueueHistoryRecord>(),
                                             batch);
      case 1:
        return queuesvc::QueueHistories::Begin(slot, key, input().Text(), input().Number(), batch);
      default: {
        auto record = input().Make<storage::v1::QueueRecord>();
        if (record.uid().empty()) record.set_uid("u1");
        return queuesvc::PutQueue(slot, key, record, batch);
      }
    }
  }

  const std::shared_ptr<watch::WatchHub> hub_ = std::make_shared<watch::WatchHub>();
  std::unique_ptr<queuesvc::QueueWorkers> workers_;
  std::unique_ptr<queuesvc::QueueApi> api_;
};

}  // namespace basalt::fuzz
