#pragma once

// How handlers reach the controllers of a replica's workers: by their own type, each on its worker's loop.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "common/runtime/controller.h"
#include "common/runtime/replica.h"

namespace basalt::runtime {

// Implemented over Replica, and directly in tests. Thread-safe.
template <typename Typed>
class Workers {
 public:
  using Task = absl::AnyInvocable<void(Typed&)>;
  virtual ~Workers() = default;
  virtual size_t count() const = 0;
  // Runs the task on the loop of the worker that has the slot, or of that worker. Dropped when it has stopped.
  virtual void OnWorkerOf(uint32_t slot, Task task) = 0;
  virtual void OnWorker(size_t worker, Task task) = 0;
};

// `Owner`: what the replica's factory makes. Where it is not the controller itself, it has it as inner().
template <typename Typed, typename Owner = Typed>
class TypedReplica final : public Workers<Typed> {
 public:
  using typename Workers<Typed>::Task;

  // The replica outlives it.
  explicit TypedReplica(Replica& replica) : replica_(replica) {}
  size_t count() const override { return replica_.workers(); }
  void OnWorkerOf(uint32_t slot, Task task) override { replica_.OnWorkerOf(slot, Wrap(std::move(task))); }
  void OnWorker(size_t worker, Task task) override { replica_.OnWorker(worker, Wrap(std::move(task))); }

 private:
  static absl::AnyInvocable<void(Controller&)> Wrap(Task task) {
    return [task = std::move(task)](Controller& controller) mutable {
      auto& owner = static_cast<Owner&>(controller);
      if constexpr (std::is_same_v<Owner, Typed>) {
        task(owner);
      } else {
        task(owner.inner());
      }
    };
  }

  Replica& replica_;
};

}  // namespace basalt::runtime
