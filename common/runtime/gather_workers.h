#pragma once

// Collects the parts of all workers of a replica for some slots, each on its loop: all of them, or UNAVAILABLE. A part
// of them would look like the whole.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/slot_set.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/rpc/peers.h"
#include "common/runtime/typed_replica.h"

namespace basalt::runtime {

// Returns how many of the slots belong to that worker and are not ready. Call it on the worker's loop.
inline size_t CountNotReady(const Context& context, const SlotSet& slots, size_t worker, size_t workers) {
  size_t count = 0;
  for (size_t slot = worker; slot < kSlotCount; slot += workers) {
    const auto id = static_cast<uint32_t>(slot);
    if (slots.Contains(id) && !context.IsReady(id)) ++count;
  }
  return count;
}

// The answers of all workers; the last one calls `done`. If a worker has stopped, `done` is dropped. Thread-safe.
template <typename Part>
class WorkerParts {
 public:
  WorkerParts(size_t workers, size_t slots, rpc::Done<std::vector<Part>> done)
      : missing_(workers), slots_(slots), done_(std::move(done)) {}

  // Call it once for each worker.
  void Add(Part part, size_t not_ready) BASALT_EXCLUDES(mutex_) {
    std::vector<Part> parts;
    {
      MutexLock lock(mutex_);
      parts_.push_back(std::move(part));
      not_ready = not_ready_ += not_ready;
      if (--missing_ > 0) return;
      parts = std::move(parts_);
    }
    if (not_ready == 0) return done_(std::move(parts));
    done_(MakeStatus(
        absl::StatusCode::kUnavailable,
        fmt::format("{} of its {} slots are still starting, or are not its own; try again", not_ready, slots_)));
  }

 private:
  Mutex mutex_;
  size_t missing_ BASALT_GUARDED_BY(mutex_);
  size_t not_ready_ BASALT_GUARDED_BY(mutex_) = 0;
  std::vector<Part> parts_ BASALT_GUARDED_BY(mutex_);
  const size_t slots_;
  rpc::Done<std::vector<Part>> done_;  // Called once, by the last Add.
};

// `list(controller)` makes the part of one worker: everything that it has in `slots`, which are ready then. `list` is
// called on several loops, and must be const. `done` is called on a worker's loop. Any thread; may be repeated.
template <typename Part, typename Typed, typename List>
void GatherWorkers(Workers<Typed>& workers, const SlotSet& slots, List list, rpc::Done<std::vector<Part>> done) {
  const auto parts = std::make_shared<WorkerParts<Part>>(workers.count(), slots.size(), std::move(done));
  for (size_t worker = 0; worker < workers.count(); ++worker) {
    workers.OnWorker(worker, [parts, slots, list, worker, count = workers.count()](Typed& controller) {
      const size_t not_ready = CountNotReady(controller.context(), slots, worker, count);
      parts->Add(not_ready == 0 ? list(controller) : Part(), not_ready);
    });
  }
}

}  // namespace basalt::runtime
