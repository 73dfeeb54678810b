#pragma once

// Times as the public messages have them and as everything within counts them: milliseconds since the Unix epoch, of
// which 0 is a time that is not known, and so is a Timestamp that is not set. Pure, safe from any thread.
#include <algorithm>
#include <cstdint>
#include <memory>

#include "google/protobuf/timestamp.pb.h"

namespace basalt::kube {

// Null for 0, so that message.set_allocated_…(ToTimestamp(ms).release()) leaves or makes the field unset. Beyond the
// years 1 to 9999, which is all that a Timestamp may say and JSON can print, it is the nearest that it may.
inline std::unique_ptr<google::protobuf::Timestamp> ToTimestamp(int64_t ms) {
  if (ms == 0) return nullptr;
  constexpr int64_t kFirstMs = -62'135'596'800'000;
  constexpr int64_t kLastMs = 253'402'300'799'999;
  ms = std::clamp(ms, kFirstMs, kLastMs);
  int64_t seconds = ms / 1000;
  int64_t rest = ms % 1000;
  if (rest < 0) {  // Nanoseconds count forward, also before the epoch.
    --seconds;
    rest += 1000;
  }
  auto timestamp = std::make_unique<google::protobuf::Timestamp>();
  timestamp->set_seconds(seconds);
  timestamp->set_nanos(static_cast<int32_t>(rest * 1'000'000));
  return timestamp;
}

// Rounded down. 0 of a field that is not set, which reads as the epoch.
inline int64_t ToMs(const google::protobuf::Timestamp& timestamp) {
  return timestamp.seconds() * 1000 + timestamp.nanos() / 1'000'000;
}

}  // namespace basalt::kube
