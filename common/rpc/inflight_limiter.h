#pragma once

// Limits the unary calls, and writes of streams, that one server serves at a time, and the bytes of their requests. A
// call beyond the limit is refused before anything of it is kept. The services of a server share its limiter, and each
// call holds it until the call is over. Any thread.
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace basalt::rpc {

class InflightLimiter {
 public:
  static constexpr size_t kMaxCalls = 20'000;
  static constexpr size_t kMaxBytes = 256 << 20;

  // A share of the limit, given back at the end.
  class Place {
   public:
    // Requires: `bytes` were acquired from the limiter.
    Place(std::shared_ptr<InflightLimiter> limiter, size_t bytes) : limiter_(std::move(limiter)), bytes_(bytes) {}
    Place(Place&&) noexcept = default;
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (limiter_ != nullptr) limiter_->Leave(bytes_);
    }

   private:
    std::shared_ptr<InflightLimiter> limiter_;
    const size_t bytes_;
  };

  explicit InflightLimiter(size_t max_calls = kMaxCalls, size_t max_bytes = kMaxBytes)
      : max_calls_(max_calls), max_bytes_(max_bytes) {}
  bool TryAcquire(size_t bytes) {
    const size_t before = calls_.fetch_add(1);
    const size_t with_it = bytes_.fetch_add(bytes) + bytes;
    // A large call is admitted while nothing else is under way.
    if (before == 0 || (before < max_calls_ && with_it <= max_bytes_)) return true;
    Leave(bytes);
    return false;
  }
  void Leave(size_t bytes) {
    calls_.fetch_sub(1);
    bytes_.fetch_sub(bytes);
  }

 private:
  const size_t max_calls_;
  const size_t max_bytes_;
  std::atomic<size_t> calls_ = 0;
  std::atomic<size_t> bytes_ = 0;
};

}  // namespace basalt::rpc
