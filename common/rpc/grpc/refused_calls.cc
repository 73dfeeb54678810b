#include "common/rpc/grpc/refused_calls.h"

#include <fmt/format.h>

#include <optional>

#include "common/base/excerpt.h"
#include "common/identity/rights.h"
#include "common/obs/log.h"

namespace basalt::rpc {

void RefusedCalls::Record(const RefusedCall& call, absl::Time now) {
  // The client chooses the path, so only rows of the table become labels.
  const identity::Right* const right = identity::FindRight(call.path);
  const std::string rpc = right == nullptr ? "unknown" : fmt::format("{}/{}", right->service, right->method);
  const std::string role = call.role.empty() ? "none" : std::string(call.role);
  MutexLock lock(mutex_);
  if (metrics_ != nullptr) {
    obs::Counter*& counter = counters_[fmt::format("{} {} {}", rpc, role, call.reason)];
    if (counter == nullptr) {
      counter = &metrics_->GetCounter("basalt_refused_calls_total",
                                      "Calls refused for want of an identity or a right, by rpc, role and reason.",
                                      {{"rpc", rpc}, {"role", role}, {"reason", std::string(call.reason)}});
    }
    counter->Add();
  }
  const std::optional<int64_t> others = logged_.Take(now);
  if (!others) return;
  obs::LogWarning("call refused", {{"rpc", Excerpt(call.path)},
                                   {"role", role},
                                   {"client", std::string(call.client)},
                                   {"why", Excerpt(call.why)},
                                   {"others_since_the_last", fmt::to_string(*others)}});
}

}  // namespace basalt::rpc
