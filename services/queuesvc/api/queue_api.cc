#include "services/queuesvc/api/queue_api.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "basalt/queue/v1/queue.grpc.pb.h"
#include "basalt/queue/v1/queue_part.grpc.pb.h"
#include "common/base/mutex.h"
#include "common/base/slot_set.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/kube/kinds.h"
#include "common/rpc/error_details.h"
#include "common/rpc/grpc/forward/forward.h"
#include "common/rpc/grpc/unary.h"
#include "services/queuesvc/api/queue_page.h"
#include "services/queuesvc/control/queue_controller.h"

namespace basalt::queuesvc {
namespace {

using queue::v1::ListPartRequest;
using queue::v1::ListPartResponse;
using queue::v1::QueuePartService;
using queue::v1::QueueService;

// What the workers answer. The last one sends it; if one is stopped first, `done` is dropped unanswered, and the call
// ends with that.
class Collector {
 public:
  Collector(size_t workers, size_t slots, rpc::Done<ListPartResponse> done)
      : missing_(workers), slots_(slots), done_(std::move(done)) {}

  void Add(ListPartResponse part, size_t not_ready) BASALT_EXCLUDES(mutex_) {
    ListPartResponse all;
    {
      MutexLock lock(mutex_);
      for (queue::v1::Queue& queue : *part.mutable_queues()) *all_.add_queues() = std::move(queue);
      not_ready = not_ready_ += not_ready;
      if (--missing_ > 0) return;
      all = std::move(all_);
    }
    if (not_ready == 0) return done_(std::move(all));
    done_(MakeStatus(
        absl::StatusCode::kUnavailable,
        fmt::format("{} of its {} slots are still starting, or are not its own; try again", not_ready, slots_)));
  }

 private:
  Mutex mutex_;
  size_t missing_ BASALT_GUARDED_BY(mutex_);
  size_t not_ready_ BASALT_GUARDED_BY(mutex_) = 0;
  ListPartResponse all_ BASALT_GUARDED_BY(mutex_);
  const size_t slots_;
  rpc::Done<ListPartResponse> done_;  // Called once, by whoever came last.
};

// What both services need. Tasks on the loop hold it, so that nothing they use goes away under them.
struct Core {
  Core(runtime::Replica& own, Loop& api_loop, std::unique_ptr<rpc::Members> known)
      : replica(own),
        loop(api_loop),
        members(std::move(known)),
        queues(std::make_shared<rpc::Forwarder<QueueService>>(loop, *members)),
        parts(std::make_shared<rpc::Forwarder<QueuePartService>>(loop, *members)) {}

  void Get(const std::string& name, rpc::Done<queue::v1::Queue> done) const {
    const uint32_t slot = SlotOf(name);
    replica.OnWorkerOf(slot, [name, slot, done = std::move(done)](runtime::Controller& controller) mutable {
      const auto& own = static_cast<QueueController&>(controller);
      if (!own.IsReady(slot)) {
        return done(MakeStatus(
            absl::StatusCode::kUnavailable,
            fmt::format("queue {}: this replica does not have its slot, or is still starting; try again", name)));
      }
      if (std::optional<queue::v1::Queue> queue = own.Find(name)) return done(*std::move(queue));
      done(rpc::WithResource(MakeStatus(absl::StatusCode::kNotFound, fmt::format("queue {} does not exist", name)),
                             kube::kQueues, name));
    });
  }

  void ListPart(const ListPartRequest& request, rpc::Done<ListPartResponse> done) const {
    const SlotSet slots = SlotSet::FromBytes(request.slots());
    const auto collector = std::make_shared<Collector>(replica.workers(), slots.size(), std::move(done));
    for (size_t worker = 0; worker < replica.workers(); ++worker) {
      replica.OnWorker(worker,
                       [collector, slots, worker, workers = replica.workers()](runtime::Controller& controller) {
                         const auto& own = static_cast<QueueController&>(controller);
                         size_t not_ready = 0;
                         for (size_t slot = worker; slot < kSlotCount; slot += workers) {
                           const auto id = static_cast<uint32_t>(slot);
                           if (slots.Contains(id) && !own.IsReady(id)) ++not_ready;
                         }
                         ListPartResponse part;
                         for (queue::v1::Queue& queue : own.List()) {
                           if (!slots.Contains(SlotOf(queue.object().meta().name()))) continue;
                           *part.add_queues() = std::move(queue);
                         }
                         collector->Add(std::move(part), not_ready);
                       });
    }
  }

  runtime::Replica& replica;
  Loop& loop;
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
    return rpc::ServeUnary(
        core_->loop, context, request, response,
        [core = core_, caller = rpc::CallerOf(*context)](queue::v1::GetQueueRequest asked,
                                                         rpc::Done<queue::v1::Queue> done) {
          if (asked.name().empty()) return done(rpc::InvalidField("name", "is required"));
          const std::string name = asked.name();
          const auto local = [core](const queue::v1::GetQueueRequest& here, rpc::Done<queue::v1::Queue> answered) {
            core->Get(here.name(), std::move(answered));
          };
          core->queues->Route(caller, SlotOf(name), fmt::format("queue {}", name), /*question=*/true, std::move(asked),
                              std::move(done), local, rpc::Remote<queue::v1::Queue>([](auto& stub, auto... arguments) {
                                stub.async()->GetQueue(arguments...);
                              }));
        });
  }

  grpc::ServerUnaryReactor* ListQueues(grpc::CallbackServerContext* context,
                                       const queue::v1::ListQueuesRequest* request,
                                       queue::v1::ListQueuesResponse* response) override {
    return rpc::ServeUnary(
        core_->loop, context, request, response,
        [core = core_, caller = rpc::CallerOf(*context)](const queue::v1::ListQueuesRequest& asked,
                                                         rpc::Done<queue::v1::ListQueuesResponse> done) {
          List(core, caller, asked, std::move(done));
        });
  }

 private:
  static void List(const std::shared_ptr<Core>& core, const rpc::Caller& caller,
                   const queue::v1::ListQueuesRequest& request, rpc::Done<queue::v1::ListQueuesResponse> done) {
    const auto make = [](const SlotSet& slots) {
      ListPartRequest part;
      part.set_slots(slots.ToBytes());
      return part;
    };
    const auto local = [core](const ListPartRequest& part, rpc::Done<ListPartResponse> answered) {
      core->ListPart(part, std::move(answered));
    };
    auto merge = [request, done = std::move(done)](absl::StatusOr<std::vector<ListPartResponse>> parts) mutable {
      if (!parts.ok()) return done(parts.status());
      std::vector<queue::v1::Queue> all;
      for (ListPartResponse& part : *parts) {
        for (queue::v1::Queue& queue : *part.mutable_queues()) all.push_back(std::move(queue));
      }
      done(PageOfQueues(std::move(all), request));
    };
    core->parts->Gather<ListPartRequest>(
        caller, make, rpc::Done<std::vector<ListPartResponse>>(std::move(merge)), local,
        rpc::Remote<ListPartResponse>([](auto& stub, auto... arguments) { stub.async()->ListPart(arguments...); }));
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
    return rpc::ServeUnary(core_->loop, context, request, response,
                           [core = core_](const ListPartRequest& asked, rpc::Done<ListPartResponse> done) {
                             core->ListPart(asked, std::move(done));
                           });
  }

 private:
  const std::shared_ptr<Core> core_;
};

}  // namespace

std::vector<std::unique_ptr<rpc::GrpcService>> MakeQueueServices(runtime::Replica& replica, Loop& loop,
                                                                 std::unique_ptr<rpc::Members> members) {
  const auto core = std::make_shared<Core>(replica, loop, std::move(members));
  std::vector<std::unique_ptr<rpc::GrpcService>> services;
  services.push_back(rpc::WrapService(std::make_unique<Service>(core)));
  services.push_back(rpc::WrapService(std::make_unique<PartService>(core)));
  return services;
}

}  // namespace basalt::queuesvc
