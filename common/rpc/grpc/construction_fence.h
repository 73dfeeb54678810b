#pragma once

// Orders the construction of a reactor before gRPC's callbacks. Any thread.
#include <atomic>

namespace basalt::rpc {

// gRPC orders the two itself, but inside its library, where the thread sanitizer does not see it.
class ConstructionFence {
 public:
  // The last step of making the reactor; for a client's reactor, before the call starts.
  void Release() { done_.store(true, std::memory_order_release); }
  // The first step of each callback that may be the first one.
  void Acquire() const { static_cast<void>(done_.load(std::memory_order_acquire)); }

 private:
  std::atomic<bool> done_ = false;
};

}  // namespace basalt::rpc
