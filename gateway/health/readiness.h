#pragma once

// The gateway's named targets of readiness, each also as the metric gateway_target{target,state}:
//   "API server"                 it answers us, and accepts who we are
//   "watch jobs.batch.volcano.sh" and so on: set by each watch
//   "right to create pods" and so on: only while that right is missing
//   "lease"                      where several gateways may run: set by the lead (gateway/lead)
// A server that cannot be reached for a moment is no news: only after `patience` the target is not ready. What somebody
// must do something about is told at once. Confined to one loop; the watches and the writer end before it.
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/exec/loop.h"
#include "common/obs/health.h"
#include "common/obs/metrics.h"
#include "gateway/health/problem.h"
#include "gateway/kube/kube_call.h"

namespace basalt::gateway {

struct ReadinessOptions {
  absl::Duration patience = absl::Seconds(10);
  // A right that was missing, and that nobody has needed for so long, is not asked for any more.
  absl::Duration forget_right = absl::Minutes(5);
};

class Readiness {
 public:
  Readiness(Loop& loop, obs::Metrics& metrics, obs::Health& health, ReadinessOptions options = {});
  ~Readiness();
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  void Set(const std::string& target, obs::Health::Condition condition);
  void SetProblem(const std::string& target, const Problem& problem);

  // The server took a request of ours for what it is, whatever it said to it.
  void OnAnswer();
  // Requires: problem.OfConnection().
  void OnProblem(const Problem& problem);

  // What became of a request about the Lease; that a right is missing for it is said by "lease".
  void OnLeaseRequest(const KubeAnswer& answer);

  // What became of a request. `error`: null where it was carried out. `verb` as RBAC names it; `resource`: plural, with
  // sub-resource and group.
  void OnRequest(std::string_view verb, const std::string& resource, const v1::KubeError* error);

  const ReadinessOptions& options() const { return options_; }

 private:
  void Remove(const std::string& target);
  void ShowState(const std::string& target, const std::string& state);

  Loop& loop_;
  obs::Metrics& metrics_;
  obs::Health& health_;
  const ReadinessOptions options_;
  Problem problem_;  // Of the connection; no state = none.
  Problem hidden_;   // One that comes of that, or has taken its place: after `patience` it is told instead.
  bool answered_ = false;
  TimerId patience_timer_ = kNoTimer;
  std::map<std::string, TimerId, std::less<>> missing_rights_;  // By target: when it is forgotten.
  std::map<std::string, std::string> states_;                   // By target, as shown.
};

// "pods", "jobs/status.batch.volcano.sh".
std::string ResourceName(const v1::Resource& resource, std::string_view subresource);

}  // namespace basalt::gateway
