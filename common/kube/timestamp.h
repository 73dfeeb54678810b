#pragma once

// Converts between the Timestamps of public messages and the times of all other code, milliseconds since the Unix
// epoch. 0 and an unset Timestamp mean that a time is not known. Pure, safe from any thread.
#include <algorithm>
#include <cstdint>
#include <memory>

#include "google/protobuf/timestamp.pb.h"
#include "google/protobuf/util/time_util.h"

namespace basalt::kube {

// Null for 0, so that message.set_allocated_…(ToTimestamp(ms).release()) leaves the field unset, or clears it. A time
// beyond the years 1 to 9999, which are the range of a Timestamp and of its JSON, becomes the nearest time in them.
inline std::unique_ptr<google::protobuf::Timestamp> ToTimestamp(int64_t ms) {
  if (ms == 0) return nullptr;
  constexpr int64_t kFirstMs = -62'135'596'800'000;
  constexpr int64_t kLastMs = 253'402'300'799'999;
  ms = std::clamp(ms, kFirstMs, kLastMs);  // TimeUtil accepts no other times.
  return std::make_unique<google::protobuf::Timestamp>(google::protobuf::util::TimeUtil::MillisecondsToTimestamp(ms));
}

// Rounds down. Returns 0 for an unset field, which reads as the epoch.
inline int64_t ToMs(const google::protobuf::Timestamp& timestamp) {
  return google::protobuf::util::TimeUtil::TimestampToMilliseconds(timestamp);
}

}  // namespace basalt::kube
