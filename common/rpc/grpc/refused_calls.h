#pragma once

// Counts each call that a server has refused for want of an identity or a right, and logs at most one a second. Any
// thread.
#include <map>
#include <string>

#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/obs/log_limit.h"
#include "common/obs/metrics.h"
#include "common/rpc/grpc/call_guard.h"

namespace basalt::rpc {

class RefusedCalls {
 public:
  // `metrics` may be null, and outlives this object.
  explicit RefusedCalls(obs::Metrics* metrics) : metrics_(metrics) {}

  void Record(const RefusedCall& call, absl::Time now) BASALT_EXCLUDES(mutex_);

 private:
  obs::Metrics* const metrics_;
  Mutex mutex_;
  // Counters by their labels. The number of labels is bounded: rows of the table of rights, roles and reasons.
  std::map<std::string, obs::Counter*> counters_ BASALT_GUARDED_BY(mutex_);
  obs::LogLimit logged_ BASALT_GUARDED_BY(mutex_){absl::Seconds(1)};
};

}  // namespace basalt::rpc
