#pragma once

// Gives handlers access to the controllers of a replica's workers: by their own type, each on its worker's loop.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "common/runtime/controller.h"
#include "common/runtime/replica.h"

namespace basalt::runtime {

// Implemented over Replica, and directly in tests. Thread-safe; calls may be repeated.
template <typename Typed>
class Workers {
 public:
  using Task = absl::AnyInvocable<void(Typed&)>;
  virtual ~Workers() = default;
  virtual size_t count() const = 0;
  // Runs the task on the loop of the worker that has the slot. The task is dropped if the worker has stopped.
  virtual void OnWorkerOf(uint32_t slot, Task task) = 0;
  // Runs the task on the loop of that worker, as OnWorkerOf does.
  virtual void OnWorker(size_t worker, Task task) = 0;
};

// `Owner` is the type that the replica's factory makes. If it is not the controller itself, its inner() returns the
// controller.
template <typename Typed, typename Owner = Typed>
class TypedReplica final : public Workers<Typed> {
 public:
  using typename Workers<Typed>::Task;

  // The replica outlives this object.
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
