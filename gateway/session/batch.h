#pragma once

// A batch that is being filled, with its bounds. Not thread-safe.
#include <cstddef>
#include <utility>

#include "gateway/session/batch_encoder.h"

namespace basalt::gateway {

class Batch {
 public:
  // `expected_bytes` is the probable size of the batch.
  Batch(size_t max_items, size_t max_bytes, size_t expected_bytes)
      : max_items_(max_items), max_bytes_(max_bytes), encoder_(expected_bytes) {}

  // Whether one more item of that size fits. The first item always does. `limit` bounds the items in the place of the
  // batch's own bound.
  bool HasRoom(size_t bytes) const { return HasRoom(bytes, max_items_); }
  bool HasRoom(size_t bytes, size_t limit) const {
    const auto items = static_cast<size_t>(encoder_.items());
    return items == 0 || (items < limit && encoder_.bytes() + bytes + kItemOverhead <= max_bytes_);
  }

  void Add(v1::Item item) { encoder_.Add(std::move(item)); }
  BatchEncoder& encoder() { return encoder_; }

  size_t max_items() const { return max_items_; }
  bool empty() const { return encoder_.items() == 0; }
  size_t bytes() const { return encoder_.bytes(); }

 private:
  // The size of an item without its object: slot, watch, key.
  static constexpr size_t kItemOverhead = 96;

  const size_t max_items_;
  const size_t max_bytes_;
  BatchEncoder encoder_;
};

}  // namespace basalt::gateway
