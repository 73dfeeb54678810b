#pragma once

// The gateway: one reflector for each watch, a hub between what they show and the replicas, and the one writer.
//
// Confined to `loop`: make, use and destroy it there; every stream has ended before that. Watches: jobs, commands, pod
// groups, queues, priority classes, pods with the job label, and for each scheduler name its pods without that label.
// Readiness has one target for the API server, one for each watch, and one for each right that a write has lacked
// (readiness.h, watch.h); slots are served whenever the watches that they need are.
#include <memory>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/http/http.h"
#include "common/obs/health.h"
#include "common/obs/metrics.h"
#include "common/rpc/peers.h"
#include "gateway/kube/writer.h"
#include "gateway/server/hub.h"
#include "gateway/server/readiness.h"
#include "gateway/server/unreadable.h"

namespace basalt::gateway {

class Watch;

struct GatewayOptions {
  HubOptions hub;
  std::vector<std::string> scheduler_names = {"volcano"};
  bool streaming_lists = true;
  absl::Duration slow_retry = absl::Seconds(30);  // Between two looks at what is absent or forbidden; ± half.
  ReadinessOptions readiness;
  WriterOptions writer;
};

class Gateway : public rpc::GatewayHandler {
 public:
  // All references outlive it.
  Gateway(Loop& loop, http::Client& client, Random& random, obs::Metrics& metrics, obs::Health& health,
          GatewayOptions options);
  ~Gateway() override;

  // Starts listing and watching. Streams may attach before: their slots wait for the watches.
  void Start();

  const Cache& cache() const;

  std::unique_ptr<rpc::AttachSession> OnAttach(rpc::AttachSink& sink) override;
  void Write(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done) override;
  void Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done) override;
  void GetTopology(v1::GetTopologyRequest request, rpc::Done<v1::Topology> done) override;

 private:
  class Access;

  Readiness readiness_;
  std::unique_ptr<Access> access_;
  std::unique_ptr<Unreadable> unreadable_;
  std::unique_ptr<Hub> hub_;
  std::vector<std::unique_ptr<Watch>> watches_;
};

}  // namespace basalt::gateway
