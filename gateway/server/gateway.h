#pragma once

// The gateway: one reflector for each watch, a hub between the reflectors and the replicas, the one writer, and the
// lead. Every gateway watches and caches; only the leading one serves replicas and writes.
//
// Confined to `loop`: the gateway is made, used and destroyed there. Every stream must end before the gateway. Watches:
// jobs, commands, pod groups, queues, priority classes, pods with the job label, and for each scheduler name its pods
// without that label. KAI's pod groups are watched if there is a scheduler of KAI's.
// Readiness has one target for the API server, one for each watch, one for each right that a write has lacked
// (readiness.h, watch.h), and "lease", which is not ready while something prevents leading or following. Slots are
// served whenever the watches that they need are.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/http/http.h"
#include "common/obs/health.h"
#include "common/obs/metrics.h"
#include "common/rpc/peers.h"
#include "gateway/health/readiness.h"
#include "gateway/health/unreadable.h"
#include "gateway/kube/write/writer.h"
#include "gateway/lead/lead.h"
#include "gateway/server/hub.h"

namespace basalt::gateway {

class HttpKubeAccess;
class Watch;

struct GatewayOptions {
  HubOptions hub;
  std::vector<std::string> scheduler_names = {"volcano"};
  std::vector<std::string> kai_scheduler_names = {};  // The schedulers whose pods get a group of KAI's form.
  bool is_rich = false;                               // As in RouteOptions.
  bool streaming_lists = true;
  // The time between two looks at an absent or forbidden resource; ± half.
  absl::Duration slow_retry = absl::Seconds(30);
  ReadinessOptions readiness;
  WriterOptions writer;
  // If unset, nothing is saved, and this gateway leads for as long as it runs. For a single gateway in tests: one that
  // starts anew remembers no epoch, so that owners of before count as others.
  std::optional<LeadOptions> lead;
  // Another process has taken the place of this one, which must end.
  std::function<void(const absl::Status&)> on_fatal = [](const absl::Status&) {};
};

class Gateway : public rpc::GatewayHandler {
 public:
  // All references must outlive the gateway.
  Gateway(Loop& loop, http::Client& client, Random& random, obs::Metrics& metrics, obs::Health& health,
          GatewayOptions options);
  ~Gateway() override;

  // Starts listing and watching, and competes for the lead. `address` is where other processes reach the gRPC server.
  // Streams may attach before: their slots wait for the watches.
  void Start(const std::string& address = "");
  // Begins no more writes, waits for those of replicas and gives the lead back, so that another gateway can go on at
  // once. `done` runs on the loop, even if the server does not answer. After that the gateway may only be destroyed.
  void Stop(std::function<void()> done);

  // Takes the outcome of a review of a user (ReviewOptions::on_review of gateway/users) into readiness. Called on the
  // loop.
  void OnReview(const std::string& resource, const v1::KubeError* error);

  const Cache& cache() const;

  std::unique_ptr<rpc::AttachSession> OnAttach(rpc::AttachSink& sink) override;
  void Write(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done) override;
  void Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done) override;
  void GetTopology(v1::GetTopologyRequest request, rpc::Done<v1::Topology> done) override;

 private:
  class Follower;

  // Called again with each renewal of the lead.
  void AllowWrites(absl::Time from, absl::Time until);

  Loop& loop_;
  Readiness readiness_;
  std::unique_ptr<HttpKubeAccess> access_;
  std::unique_ptr<Unreadable> unreadable_;
  std::unique_ptr<Lead> lead_;              // Null if this gateway is alone.
  std::unique_ptr<AssignmentStore> alone_;  // Null unless this gateway is alone.
  std::unique_ptr<Hub> hub_;
  std::unique_ptr<Follower> follower_;
  std::vector<std::unique_ptr<Watch>> watches_;
};

}  // namespace basalt::gateway
