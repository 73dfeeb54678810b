#include "services/queuesvc/api/queue_service.h"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "basalt/queue/v1/queue.grpc.pb.h"
#include "basalt/queue/v1/queue_part.grpc.pb.h"
#include "common/base/slots.h"
#include "common/kube/kinds.h"
#include "common/kube/object_key.h"
#include "common/rpc/grpc/forward/feed.h"
#include "common/rpc/grpc/forward/forward.h"
#include "common/rpc/grpc/forward/serve.h"
#include "common/runtime/watch/watch_part.h"
#include "services/queuesvc/api/queue_api.h"
#include "services/queuesvc/api/queue_list.h"
#include "services/queuesvc/api/queue_watch.h"

namespace basalt::queuesvc {
namespace {

using queue::v1::ListPartRequest;
using queue::v1::ListPartResponse;
using queue::v1::QueuePartService;
using queue::v1::QueueService;
using queue::v1::WatchPartRequest;
using queue::v1::WatchPartResponse;
using queue::v1::WatchQueuesRequest;
using queue::v1::WatchQueuesResponse;

// Returns the API group of a queue of KAI's scheduler; empty for a queue of Volcano's.
std::string GroupOf(const std::string& name) {
  return kube::IsKaiQueueKey(name) ? std::string(kube::kKaiQueues.group) : "";
}

// The members that both services share. Tasks on the loop hold a reference, so that their members outlive them.
struct Core {
  Core(runtime::Replica& own, Loop& api_loop, std::shared_ptr<rpc::InflightLimiter> of_server,
       std::unique_ptr<rpc::Members> known, std::shared_ptr<watch::WatchHub> hub)
      : workers(own),
        api(workers, std::move(hub)),
        loop(api_loop),
        limiter(std::move(of_server)),
        members(std::move(known)),
        queues(std::make_shared<rpc::Forwarder<QueueService>>(loop, *members)),
        parts(std::make_shared<rpc::Forwarder<QueuePartService>>(loop, *members)) {}

  runtime::TypedReplica<QueueController> workers;
  QueueApi api;
  rpc::ConnectionShares watches;
  Loop& loop;
  const std::shared_ptr<rpc::InflightLimiter> limiter;
  const std::unique_ptr<rpc::Members> members;
  const std::shared_ptr<rpc::Forwarder<QueueService>> queues;
  const std::shared_ptr<rpc::Forwarder<QueuePartService>> parts;
};

class Service final : public QueueService::CallbackService {
 public:
  explicit Service(std::shared_ptr<Core> core) : core_(std::move(core)) {
    // Hands this object over to the loop: gRPC's own ordering is not visible to the thread sanitizer.
    core_->loop.Post([] {});
  }
  ~Service() override {
    core_->queues->Stop();
    core_->parts->Stop();
  }

  grpc::ServerUnaryReactor* GetQueue(grpc::CallbackServerContext* context, const queue::v1::GetQueueRequest* request,
                                     queue::v1::Queue* response) override {
    return AskOwner(context, request, response, rpc::Repeat::kIdempotent, &QueueApi::Get,
                    [](auto& stub, auto... arguments) { stub.async()->GetQueue(arguments...); });
  }

  grpc::ServerUnaryReactor* GetQueueHistory(grpc::CallbackServerContext* context,
                                            const queue::v1::GetQueueHistoryRequest* request,
                                            queue::v1::QueueHistory* response) override {
    return AskOwner(context, request, response, rpc::Repeat::kIdempotent, &QueueApi::History,
                    [](auto& stub, auto... arguments) { stub.async()->GetQueueHistory(arguments...); });
  }

  grpc::ServerUnaryReactor* DeleteQueue(grpc::CallbackServerContext* context,
                                        const queue::v1::DeleteQueueRequest* request,
                                        queue::v1::DeleteQueueResponse* response) override {
    return AskOwner(context, request, response, rpc::Repeat::kOnce, &QueueApi::Delete,
                    [](auto& stub, auto... arguments) { stub.async()->DeleteQueue(arguments...); });
  }

  grpc::ServerUnaryReactor* CreateQueue(grpc::CallbackServerContext* context,
                                        const queue::v1::CreateQueueRequest* request,
                                        queue::v1::Queue* response) override {
    return rpc::ServeUnary<queue::v1::CreateQueueRequest, queue::v1::Queue>(
        core_->loop, core_->limiter, context, request, response,
        [core = core_, caller = rpc::CallerOf(*context, *core_->members)](queue::v1::CreateQueueRequest asked,
                                                                          rpc::Done<queue::v1::Queue> done) {
          const absl::StatusOr<kube::v1::Queue> queue = ReadQueueManifest(asked);
          if (!queue.ok()) return done(queue.status());
          const std::string name = queue->meta().name();
          auto serve = [core, caller, name, asked = std::move(asked)](rpc::Done<queue::v1::Queue> answered) mutable {
            // A dry run changes nothing.
            const rpc::Repeat repeat = asked.dry_run() ? rpc::Repeat::kIdempotent : rpc::Repeat::kOnce;
            core->queues->Route(caller, SlotOf(name), fmt::format("queue {}", name), repeat, std::move(asked),
                                std::move(answered),
                                rpc::HandlerOf<queue::v1::CreateQueueRequest, queue::v1::Queue>(
                                    core, &QueueApi::Create, caller.client.user_token),
                                rpc::Remote<queue::v1::Queue>(
                                    [](auto& stub, auto... arguments) { stub.async()->CreateQueue(arguments...); }));
          };
          rpc::Admit<queue::v1::CreateQueueRequest, queue::v1::Queue>(
              core->loop, *core->members, caller, {.ns = "", .name = name}, std::move(done), std::move(serve));
        });
  }

  grpc::ServerUnaryReactor* ExplainQueue(grpc::CallbackServerContext* context,
                                         const queue::v1::ExplainQueueRequest* request,
                                         queue::v1::QueueExplanation* response) override {
    return AskOwner(context, request, response, rpc::Repeat::kIdempotent, &QueueApi::Explain,
                    [](auto& stub, auto... arguments) { stub.async()->ExplainQueue(arguments...); });
  }

  grpc::ServerUnaryReactor* CommandQueue(grpc::CallbackServerContext* context,
                                         const queue::v1::CommandQueueRequest* request,
                                         queue::v1::CommandQueueResponse* response) override {
    return AskOwner(context, request, response, rpc::Repeat::kOnce, &QueueApi::Command,
                    [](auto& stub, auto... arguments) { stub.async()->CommandQueue(arguments...); });
  }

  grpc::ServerUnaryReactor* ListQueues(grpc::CallbackServerContext* context,
                                       const queue::v1::ListQueuesRequest* request,
                                       queue::v1::ListQueuesResponse* response) override {
    return rpc::ServeList<QueueList>(core_, core_->parts, context, request, response);
  }

  grpc::ServerWriteReactor<WatchQueuesResponse>* WatchQueues(grpc::CallbackServerContext* context,
                                                             const WatchQueuesRequest* request) override {
    if (const absl::Status status = CheckIsOurs(request->name()); !status.ok()) {
      return new rpc::FeedReactor<WatchQueuesResponse>(core_->loop, [status](const std::function<void()>&) {
        return std::make_unique<runtime::RefusedPart<WatchQueuesResponse>>(status);
      });
    }
    return rpc::ServeWatch<WatchedQueues>(core_, *core_->members, core_->parts, context, request);
  }

 private:
  // Passes a call about one queue to its owner.
  template <typename Request, typename Response, typename Method, typename Start>
  grpc::ServerUnaryReactor* AskOwner(grpc::CallbackServerContext* context, const Request* request, Response* response,
                                     rpc::Repeat repeat, Method method, Start start) {
    return rpc::ServeAtOwner(core_, core_->queues, context, request, response,
                             {"queue", request->name(), GroupOf(request->name())}, repeat, method, start);
  }

  const std::shared_ptr<Core> core_;
};

class PartService final : public QueuePartService::CallbackService {
 public:
  explicit PartService(std::shared_ptr<Core> core) : core_(std::move(core)) {
    core_->loop.Post([] {});
  }

  grpc::ServerUnaryReactor* ListPart(grpc::CallbackServerContext* context, const ListPartRequest* request,
                                     ListPartResponse* response) override {
    return rpc::ServeHere(core_, context, request, response, &QueueApi::ListPart);
  }
  grpc::ServerWriteReactor<WatchPartResponse>* WatchPart(grpc::CallbackServerContext*,
                                                         const WatchPartRequest* request) override {
    return rpc::ServeWatchPart<WatchedQueues>(core_, request);
  }

 private:
  const std::shared_ptr<Core> core_;
};

}  // namespace

std::vector<std::unique_ptr<rpc::GrpcService>> MakeQueueServices(runtime::Replica& replica, Loop& loop,
                                                                 std::shared_ptr<rpc::InflightLimiter> limiter,
                                                                 std::unique_ptr<rpc::Members> members,
                                                                 std::shared_ptr<watch::WatchHub> hub) {
  const auto core = std::make_shared<Core>(replica, loop, std::move(limiter), std::move(members), std::move(hub));
  std::vector<std::unique_ptr<rpc::GrpcService>> services;
  services.push_back(rpc::WrapService(std::make_unique<Service>(core)));
  services.push_back(rpc::WrapService(std::make_unique<PartService>(core)));
  return services;
}

}  // namespace basalt::queuesvc
