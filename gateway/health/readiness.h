#pragma once

// The gateway's named targets of readiness, each also as the metric gateway_target{target,state}:
//   "API server"                 the server answers, and accepts who the gateway is
//   "watch jobs.batch.volcano.sh" and so on: set by each watch
//   "right to create pods" and so on: only while that right is missing
//   "lease"                      where several gateways may run: set by the lead (gateway/lead)
// A server that cannot be reached for a moment is not reported: the target becomes not ready only after `patience`. A
// problem that needs a person is reported at once. Confined to one loop. The watches and the writer must end before
// this object.
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
  // A missing right that nobody has needed for this long is no longer reported.
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

  // The server accepted who the gateway is, whatever it answered to the request.
  void OnAnswer();
  // Requires: problem.OfConnection().
  void OnProblem(const Problem& problem);

  // Takes the answer to a request about the Lease. The target "lease" reports a right that is missing for the Lease.
  void OnLeaseRequest(const KubeAnswer& answer);

  // Takes the outcome of a request. `error` is null if the request was carried out. `verb` is as RBAC names it.
  // `resource` is the plural, with subresource and group.
  void OnRequest(std::string_view verb, const std::string& resource, const v1::KubeError* error);

  const ReadinessOptions& options() const { return options_; }

 private:
  void Remove(const std::string& target);
  void ShowState(const std::string& target, const std::string& state);

  Loop& loop_;
  obs::Metrics& metrics_;
  obs::Health& health_;
  const ReadinessOptions options_;
  Problem problem_;  // The problem of the connection. Its state is empty if there is none.
  Problem hidden_;   // A problem that follows from problem_ or has replaced it. Reported in its place after `patience`.
  bool answered_ = false;
  TimerId patience_timer_ = kNoTimer;
  std::map<std::string, TimerId, std::less<>> missing_rights_;  // Timers that forget a missing right, by target.
  std::map<std::string, std::string> states_;                   // The states in the metric, by target.
};

// Returns "pods" or "jobs/status.batch.volcano.sh", for example.
std::string ResourceName(const v1::Resource& resource, std::string_view subresource);

}  // namespace basalt::gateway
