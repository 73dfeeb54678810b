#pragma once

// Counts the refused requests of replicas, and logs one now and then. Confined to one loop.
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/exec/loop.h"
#include "common/obs/log_limit.h"
#include "gateway/server/hub_metrics.h"

namespace basalt::gateway {

class Refusals {
 public:
  // All references must outlive this object.
  Refusals(Loop& loop, HubMetrics& metrics, absl::Duration between_logs)
      : loop_(loop), metrics_(metrics), logged_(between_logs) {}

  // `call` and `reason` have a few values each.
  void Note(std::string_view call, const v1::Member& sender, std::string_view reason, const absl::Status& why);

 private:
  Loop& loop_;
  HubMetrics& metrics_;
  obs::LogLimit logged_;
};

}  // namespace basalt::gateway
