#include "services/queuesvc/api/queue_api.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "basalt/queue/v1/queue.grpc.pb.h"
#include "common/base/mutex.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/rpc/unary.h"
#include "services/queuesvc/api/queue_page.h"
#include "services/queuesvc/control/queue_controller.h"

namespace basalt::queuesvc {
namespace {

absl::Status Unavailable(std::string_view why) { return MakeStatus(absl::StatusCode::kUnavailable, why); }

// What the workers answer. The last one sends it; if one is stopped first, `done` is dropped unanswered, and the call
// ends with that.
class Collector {
 public:
  Collector(size_t workers, queue::v1::ListQueuesRequest request, rpc::Done<queue::v1::ListQueuesResponse> done)
      : missing_(workers), request_(std::move(request)), done_(std::move(done)) {}

  void Add(std::vector<queue::v1::Queue> queues) BASALT_EXCLUDES(mutex_) {
    std::vector<queue::v1::Queue> all;
    {
      MutexLock lock(mutex_);
      all_.insert(all_.end(), std::make_move_iterator(queues.begin()), std::make_move_iterator(queues.end()));
      if (--missing_ > 0) return;
      all = std::move(all_);
    }
    done_(PageOfQueues(std::move(all), request_));
  }

 private:
  Mutex mutex_;
  size_t missing_ BASALT_GUARDED_BY(mutex_);
  std::vector<queue::v1::Queue> all_ BASALT_GUARDED_BY(mutex_);
  const queue::v1::ListQueuesRequest request_;
  rpc::Done<queue::v1::ListQueuesResponse> done_;  // Called once, by whoever came last.
};

class Service final : public queue::v1::QueueService::CallbackService {
 public:
  Service(runtime::Replica& replica, Loop& loop) : replica_(replica), loop_(loop) {
    // Hands this object over to the loop: gRPC's own ordering is not visible to the thread sanitizer.
    loop_.Post([] {});
  }

  grpc::ServerUnaryReactor* GetQueue(grpc::CallbackServerContext* context, const queue::v1::GetQueueRequest* request,
                                     queue::v1::Queue* response) override {
    return rpc::ServeUnary(loop_, context, request, response,
                           [this](queue::v1::GetQueueRequest message, rpc::Done<queue::v1::Queue> done) {
                             Get(std::move(message), std::move(done));
                           });
  }

  grpc::ServerUnaryReactor* ListQueues(grpc::CallbackServerContext* context,
                                       const queue::v1::ListQueuesRequest* request,
                                       queue::v1::ListQueuesResponse* response) override {
    return rpc::ServeUnary(loop_, context, request, response,
                           [this](queue::v1::ListQueuesRequest message, rpc::Done<queue::v1::ListQueuesResponse> done) {
                             List(std::move(message), std::move(done));
                           });
  }

 private:
  void Get(queue::v1::GetQueueRequest request, rpc::Done<queue::v1::Queue> done) {
    if (request.name().empty()) return done(MakeStatus(absl::StatusCode::kInvalidArgument, "name: is required"));
    const auto owner = replica_.OwnerOf(gateway::v1::SERVICE_KIND_QUEUE, request.name());
    if (!owner.has_value()) return done(Unavailable("the replica is not attached to a gateway yet"));
    if (owner->replica() != replica_.self().replica()) {
      return done(Unavailable(fmt::format("queue {} belongs to {}", request.name(), owner->replica())));
    }
    replica_.OnWorkerOf(SlotOf(request.name()),
                        [name = request.name(), done = std::move(done)](runtime::Controller& controller) mutable {
                          for (queue::v1::Queue& queue : static_cast<QueueController&>(controller).List()) {
                            if (queue.object().meta().name() == name) return done(std::move(queue));
                          }
                          done(MakeStatus(absl::StatusCode::kNotFound, fmt::format("queue {} does not exist", name)));
                        });
  }

  void List(queue::v1::ListQueuesRequest request, rpc::Done<queue::v1::ListQueuesResponse> done) {
    if (replica_.Members(gateway::v1::SERVICE_KIND_QUEUE).empty()) {
      return done(Unavailable("the replica is not attached to a gateway yet"));
    }
    const auto collector = std::make_shared<Collector>(replica_.workers(), std::move(request), std::move(done));
    for (size_t worker = 0; worker < replica_.workers(); ++worker) {
      replica_.OnWorker(worker, [collector](runtime::Controller& controller) {
        collector->Add(static_cast<QueueController&>(controller).List());
      });
    }
  }

  runtime::Replica& replica_;
  Loop& loop_;
};

}  // namespace

std::unique_ptr<rpc::GrpcService> MakeQueueService(runtime::Replica& replica, Loop& loop) {
  return rpc::WrapService(std::make_unique<Service>(replica, loop));
}

}  // namespace basalt::queuesvc
