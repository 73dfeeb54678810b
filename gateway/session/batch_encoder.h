#pragma once

// Builds a batch in its wire format (gateway.v1.AttachBatch), item by item. States go in as the bytes that the cache
// keeps: no object is parsed and serialized again on its way to a replica. Not thread-safe.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "basalt/gateway/v1/gateway.pb.h"

namespace basalt::gateway {

class BatchEncoder {
 public:
  // `expected_bytes` is the probable size of the batch.
  explicit BatchEncoder(size_t expected_bytes = 0) { bytes_.reserve(expected_bytes); }

  void Add(v1::Item item);
  // `object` is a serialized kube.v1.Object.
  void AddState(uint32_t slot, std::string_view watch, std::string_view routing_key, std::string_view object);

  int items() const { return items_; }
  size_t bytes() const { return bytes_.size(); }

  // Returns the whole batch; the encoder is empty afterwards.
  std::string Finish(int64_t sequence, int64_t api_time_ms);

 private:
  std::string bytes_;
  int items_ = 0;
};

}  // namespace basalt::gateway
