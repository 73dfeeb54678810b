#pragma once

// The gateway: one reflector for each watch, a hub between what they show and the replicas, the one writer, and the
// lead. Every gateway watches and caches; only the one that leads serves replicas and writes.
//
// Confined to `loop`: make, use and destroy it there; every stream has ended before that. Watches: jobs, commands, pod
// groups, queues, priority classes, pods with the job label, and for each scheduler name its pods without that label.
// KAI's pod groups are watched where there is a scheduler of KAI's.
// Readiness has one target for the API server, one for each watch, one for each right that a write has lacked
// (readiness.h, watch.h), and "lease": not ready where something is in the way of leading or following. Slots are
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
  std::vector<std::string> kai_scheduler_names = {};  // Whose pods get a group of KAI's form.
  bool is_rich = false;                               // As RouteOptions.
  bool streaming_lists = true;
  absl::Duration slow_retry = absl::Seconds(30);  // Between two looks at what is absent or forbidden; ± half.
  ReadinessOptions readiness;
  WriterOptions writer;
  // None: nothing is saved, and this one leads for as long as it runs. For a single gateway in tests: one that starts
  // anew remembers no epoch, and owners of before count as others.
  std::optional<LeadOptions> lead;
  // Another process has taken the place of this one: it must end.
  std::function<void(const absl::Status&)> on_fatal = [](const absl::Status&) {};
};

class Gateway : public rpc::GatewayHandler {
 public:
  // All references outlive it.
  Gateway(Loop& loop, http::Client& client, Random& random, obs::Metrics& metrics, obs::Health& health,
          GatewayOptions options);
  ~Gateway() override;

  // Starts listing and watching, and competes for the lead. `address`: where other processes reach the gRPC server.
  // Streams may attach before: their slots wait for the watches.
  void Start(const std::string& address = "");
  // Begins no write any more, waits for those of replicas and gives the lead back, so that another gateway can go on at
  // once. `done` runs on the loop, also where the server does not answer. What it does after that is end.
  void Stop(std::function<void()> done);

  // Takes the outcome of a review of a user (ReviewOptions::on_review of gateway/users) into readiness. On the loop.
  void OnReview(const std::string& resource, const v1::KubeError* error);

  const Cache& cache() const;

  std::unique_ptr<rpc::AttachSession> OnAttach(rpc::AttachSink& sink) override;
  void Write(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done) override;
  void Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done) override;
  void GetTopology(v1::GetTopologyRequest request, rpc::Done<v1::Topology> done) override;

 private:
  class Follower;

  // Comes again with each renewal of the lead.
  void AllowWrites(absl::Time from, absl::Time until);

  Loop& loop_;
  Readiness readiness_;
  std::unique_ptr<HttpKubeAccess> access_;
  std::unique_ptr<Unreadable> unreadable_;
  std::unique_ptr<Lead> lead_;              // Null: it is alone,
  std::unique_ptr<AssignmentStore> alone_;  // with this.
  std::unique_ptr<Hub> hub_;
  std::unique_ptr<Follower> follower_;
  std::vector<std::unique_ptr<Watch>> watches_;
};

}  // namespace basalt::gateway
