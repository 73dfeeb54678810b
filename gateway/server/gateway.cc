#include "gateway/server/gateway.h"

#include <utility>

#include "gateway/kube/api_clock.h"
#include "gateway/kube/writer.h"
#include "gateway/server/watch.h"

namespace basalt::gateway {

class Gateway::Access : public KubeAccess {
 public:
  Access(Loop& loop, http::Client& client, Random& random, const WriterOptions& options)
      : clock_(loop), writer_(loop, client, random, options, &clock_) {}

  void Write(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done) override {
    writer_.Write(std::move(request), [done = Share(std::move(done))](auto answer) { (*done)(std::move(answer)); });
  }
  void Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done) override {
    writer_.Get(std::move(request), [done = Share(std::move(done))](auto answer) { (*done)(std::move(answer)); });
  }
  void DropUnsent(const std::function<bool(const v1::Owner&)>& is_stale) override {
    writer_.DropWaiting([&](const v1::WriteRequest& request) { return is_stale(request.owner()); });
  }
  absl::Time ApiNow() override { return absl::FromUnixMillis(clock_.NowMs()); }

  ApiClock& clock() { return clock_; }

 private:
  template <typename Callback>
  static std::shared_ptr<Callback> Share(Callback callback) {
    return std::make_shared<Callback>(std::move(callback));
  }

  ApiClock clock_;
  KubeWriter writer_;
};

Gateway::Gateway(Loop& loop, http::Client& client, Random& random, obs::Metrics& metrics, obs::Health& health,
                 GatewayOptions options)
    : access_(std::make_unique<Access>(loop, client, random, options.writer)) {
  std::vector<ReflectorOptions> watches = WatchesFor(options.scheduler_names, options.streaming_lists);
  std::vector<std::string> ids;
  for (const ReflectorOptions& watch : watches) ids.push_back(watch.watch);
  hub_ = std::make_unique<Hub>(loop, *access_, metrics, ids, std::move(options.hub));
  for (size_t i = 0; i < watches.size(); ++i) {
    watches_.push_back(std::make_unique<Watch>(loop, client, random, access_->clock(), metrics, health, hub_->cache(),
                                               static_cast<WatchIndex>(i), std::move(watches[i])));
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
