#include "gateway/server/gateway.h"

#include <utility>

#include "gateway/kube/api_clock.h"
#include "gateway/kube/writer.h"
#include "gateway/server/watch.h"

namespace basalt::gateway {

class Gateway::Access : public KubeAccess {
 public:
  Access(Loop& loop, http::Client& client, Random& random, Readiness& readiness, const WriterOptions& options)
      : readiness_(readiness), clock_(loop), writer_(loop, client, random, options, &clock_) {}

  void Write(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done) override {
    const std::string_view verb = VerbOf(request);
    std::string resource = ResourceName(request.resource(), request.subresource());
    writer_.Write(std::move(request), Observed(verb, std::move(resource), std::move(done)));
  }
  void Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done) override {
    std::string resource = ResourceName(request.resource(), "");
    writer_.Get(std::move(request), Observed("get", std::move(resource), std::move(done)));
  }
  void DropUnsent(const std::function<bool(const v1::Owner&)>& is_stale) override {
    writer_.DropWaiting([&](const v1::WriteRequest& request) { return is_stale(request.owner()); });
  }
  absl::Time ApiNow() override { return absl::FromUnixMillis(clock_.NowMs()); }

  ApiClock& clock() { return clock_; }

 private:
  // `done`, after readiness has heard of what became of it.
  template <typename Response>
  std::function<void(absl::StatusOr<Response>)> Observed(std::string_view verb, std::string resource,
                                                         rpc::Done<Response> done) {
    return [this, verb, resource = std::move(resource),
            done = std::make_shared<rpc::Done<Response>>(std::move(done))](absl::StatusOr<Response> answer) {
      if (answer.ok()) readiness_.OnRequest(verb, resource, answer->has_error() ? &answer->error() : nullptr);
      (*done)(std::move(answer));
    };
  }

  Readiness& readiness_;
  ApiClock clock_;
  KubeWriter writer_;
};

Gateway::Gateway(Loop& loop, http::Client& client, Random& random, obs::Metrics& metrics, obs::Health& health,
                 GatewayOptions options)
    : readiness_(loop, metrics, health, options.readiness),
      access_(std::make_unique<Access>(loop, client, random, readiness_, options.writer)),
      unreadable_(std::make_unique<Unreadable>(*access_, metrics)) {
  std::vector<ReflectorOptions> watches = WatchesFor(options.scheduler_names, options.streaming_lists);
  std::vector<std::string> ids;
  for (const ReflectorOptions& watch : watches) ids.push_back(watch.watch);
  hub_ = std::make_unique<Hub>(loop, *access_, metrics, ids, std::move(options.hub));
  const Watch::Shared shared{loop, client, random, access_->clock(), metrics, readiness_, *unreadable_, hub_->cache()};
  for (size_t i = 0; i < watches.size(); ++i) {
    watches[i].slow_retry = options.slow_retry;
    watches_.push_back(std::make_unique<Watch>(shared, static_cast<WatchIndex>(i), std::move(watches[i])));
  }
}

Gateway::~Gateway() = default;

void Gateway::Start() {
  for (const auto& watch : watches_) watch->Start();
}

const Cache& Gateway::cache() const { return hub_->cache(); }

std::unique_ptr<rpc::AttachSession> Gateway::OnAttach(rpc::AttachSink& sink) { return hub_->OnAttach(sink); }

void Gateway::Write(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done) {
  hub_->Write(std::move(request), std::move(done));
}

void Gateway::Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done) {
  hub_->Get(std::move(request), std::move(done));
}

void Gateway::GetTopology(v1::GetTopologyRequest request, rpc::Done<v1::Topology> done) {
  hub_->GetTopology(std::move(request), std::move(done));
}

}  // namespace basalt::gateway
