#include "services/queuesvc/api/queue_api.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/base/mutex.h"
#include "common/base/slot_set.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/kube/kinds.h"
#include "common/rpc/error_details.h"
#include "services/queuesvc/api/queue_history.h"
#include "services/queuesvc/control/queue_controller.h"

namespace basalt::queuesvc {

using queue::v1::ListPartRequest;
using queue::v1::ListPartResponse;

namespace {

absl::Status NotReady(const std::string& name) {
  return MakeStatus(
      absl::StatusCode::kUnavailable,
      fmt::format("queue {}: this replica does not have its slot, or is still starting; try again", name));
}

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

}  // namespace

void QueueApi::Get(const queue::v1::GetQueueRequest& request, rpc::Done<queue::v1::Queue> done) {
  const uint32_t slot = SlotOf(request.name());
  replica_.OnWorkerOf(
      slot, [name = request.name(), slot, done = std::move(done)](runtime::Controller& controller) mutable {
        const auto& own = static_cast<QueueController&>(controller);
        if (!own.IsReady(slot)) return done(NotReady(name));
        if (std::optional<queue::v1::Queue> queue = own.Find(name)) return done(*std::move(queue));
        done(rpc::WithResource(MakeStatus(absl::StatusCode::kNotFound, fmt::format("queue {} does not exist", name)),
                               kube::kQueues, name));
      });
}

void QueueApi::History(const queue::v1::GetQueueHistoryRequest& request, rpc::Done<queue::v1::QueueHistory> done) {
  const uint32_t slot = SlotOf(request.name());
  replica_.OnWorkerOf(slot, [request, slot, done = std::move(done)](runtime::Controller& controller) mutable {
    auto& own = static_cast<QueueController&>(controller);
    if (!own.IsReady(slot)) return done(NotReady(request.name()));
    done(HistoryOf(own.records(), own.RecordOf(request.name()), request));
  });
}

void QueueApi::ListPart(const ListPartRequest& request, rpc::Done<ListPartResponse> done) {
  const SlotSet slots = SlotSet::FromBytes(request.slots());
  const auto collector = std::make_shared<Collector>(replica_.workers(), slots.size(), std::move(done));
  for (size_t worker = 0; worker < replica_.workers(); ++worker) {
    replica_.OnWorker(worker,
                      [collector, slots, worker, workers = replica_.workers()](runtime::Controller& controller) {
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

}  // namespace basalt::queuesvc
