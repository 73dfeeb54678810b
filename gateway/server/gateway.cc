#include "gateway/server/gateway.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "gateway/kube/write/writer.h"
#include "gateway/watches/http_kube_access.h"
#include "gateway/watches/watch.h"

namespace basalt::gateway {
namespace {

WriterOptions WriterFor(const GatewayOptions& options) {
  WriterOptions writer = options.writer;
  writer.user_agent = fmt::format("basalt-gateway/{}", options.hub.version);
  if (options.lead) writer.max_attempt = std::min(writer.max_attempt, options.lead->MaxWrite());
  return writer;
}

}  // namespace

class Gateway::Follower : public LeadListener {
 public:
  explicit Follower(Hub& hub) : hub_(hub) {}
  void OnLead(const storage::v1::AssignmentRecord& saved) override { hub_.Lead(saved); }
  void OnFollow(std::string leader, std::string address) override {
    hub_.Follow(std::move(leader), std::move(address));
  }

 private:
  Hub& hub_;
};

Gateway::Gateway(Loop& loop, http::Client& client, Random& random, obs::Metrics& metrics, obs::Health& health,
                 GatewayOptions options)
    : loop_(loop),
      readiness_(loop, metrics, health, options.readiness),
      access_(std::make_unique<HttpKubeAccess>(loop, client, random, metrics, readiness_, WriterFor(options),
                                               options.slow_retry)),
      unreadable_(std::make_unique<Unreadable>(*access_, metrics)) {
  std::vector<ReflectorOptions> watches =
      WatchesFor({options.scheduler_names, options.kai_scheduler_names, options.is_rich}, options.streaming_lists);
  options.hub.routes = {options.kai_scheduler_names, options.is_rich};
  std::vector<std::string> ids;
  for (const ReflectorOptions& watch : watches) ids.push_back(watch.watch);
  if (options.lead) {
    access_->writer().AllowBetween(absl::InfiniteFuture(), absl::InfinitePast());
    lead_ = std::make_unique<Lead>(
        loop, client, random, metrics, *options.lead,
        LeadHooks{.allow_writes = [this](absl::Time from, absl::Time until) { AllowWrites(from, until); },
                  .when_quiet = [this](std::function<void()> done) { access_->writer().WhenQuiet(std::move(done)); },
                  .set_condition = [this](const obs::Health::Condition& said) { readiness_.Set("lease", said); },
                  .on_answer = [this](const KubeAnswer& answer) { readiness_.OnLeaseRequest(answer); },
                  .on_fatal = std::move(options.on_fatal)});
  } else {
    alone_ = std::make_unique<MemoryAssignmentStore>(loop);
  }
  // The gateway stays ready, since the missing replicas could not attach otherwise.
  options.hub.on_members = [this](const std::string& differs) {
    readiness_.Set("members", {.ready = true,
                               .state = differs.empty() ? "ready" : "incomplete",
                               .why = differs,
                               .cure = differs.empty() ? "" : "start those that are missing, or correct --members"});
  };
  AssignmentStore& store = lead_ ? lead_->assignments() : *alone_;
  hub_ = std::make_unique<Hub>(loop, random, *access_, store, metrics, ids, std::move(options.hub));
  follower_ = std::make_unique<Follower>(*hub_);
  const Watch::Shared shared{loop, client, random, access_->clock(), metrics, readiness_, *unreadable_, hub_->cache()};
  for (size_t i = 0; i < watches.size(); ++i) {
    watches[i].slow_retry = options.slow_retry;
    watches_.push_back(std::make_unique<Watch>(shared, static_cast<WatchIndex>(i), std::move(watches[i])));
  }
}

Gateway::~Gateway() = default;

void Gateway::AllowWrites(absl::Time from, absl::Time until) {
  access_->writer().AllowBetween(from, until);
  const absl::Time now = loop_.Now();
  if (from <= now && now < until) unreadable_->LogWaiting();
}

void Gateway::Start(const std::string& address) {
  for (const auto& watch : watches_) watch->Start();
  if (lead_) return lead_->Start(*follower_, address);
  hub_->Lead({});
}

void Gateway::Stop(std::function<void()> done) {
  if (!lead_) return loop_.Post(std::move(done));
  lead_->Release(std::move(done));
}

void Gateway::OnReview(const std::string& resource, const v1::KubeError* error) {
  readiness_.OnRequest("create", resource, error);
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
