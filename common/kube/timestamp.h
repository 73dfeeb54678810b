#pragma once

// Times as the public messages have them and as everything within counts them: milliseconds since the Unix epoch, of
// which 0 is a time that is not known, and so is a Timestamp that is not set. Pure, safe from any thread.
#include <algorithm>
#include <cstdint>
#include <memory>

#include "google/protobuf/timestamp.pb.h"
#include "google/protobuf/util/time_util.h"

namespace basalt::kube {

// Null for 0, so that message.set_allocated_…(ToTimestamp(ms).release()) leaves or makes the field unset. Beyond the
// years 1 to 9999, which is all that a Timestamp may say and JSON can print, it is the nearest that it may.
inline std::unique_ptr<google::protobuf::Timestamp> ToTimestamp(int64_t ms) {
  if (ms == 0) return nullptr;
  constexpr int64_t kFirstMs = -62'135'596'800'000;
  constexpr int64_t kLastMs = 253'402'300'799'999;
  ms = std::clamp(ms, kFirstMs, kLastMs);  // TimeUtil takes nothing beyond.
  return std::make_unique<google::protobuf::Timestamp>(google::protobuf::util::TimeUtil::MillisecondsToTimestamp(ms));
}

// Rounded down. 0 of a field that is not set, which reads as the epoch.
inline int64_t ToMs(const google::protobuf::Timestamp& timestamp) {
  return google::protobuf::util::TimeUtil::TimestampToMilliseconds(timestamp);
}

}  // namespace basalt::kube
