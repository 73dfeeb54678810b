#include "gateway/server/gateway.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "gateway/kube/api_clock.h"
#include "gateway/kube/kind_finder.h"
#include "gateway/kube/write/writer.h"
#include "gateway/server/object_watch.h"
#include "gateway/server/watch.h"

namespace basalt::gateway {

class Gateway::Access : public KubeAccess {
 public:
  Access(Loop& loop, http::Client& client, Random& random, obs::Metrics& metrics, Readiness& readiness,
         const WriterOptions& options, absl::Duration slow_retry)
      : readiness_(readiness),
        clock_(loop),
        writer_(loop, client, random, options, &clock_),
        objects_{loop, client, random, clock_, metrics, slow_retry},
        kinds_{loop, client, random, slow_retry} {}

  void Write(v1::WriteRequest request, rpc::Done<v1::WriteResponse> done) override {
    const std::string_view verb = VerbOf(request);
    std::string resource = ResourceName(request.resource(), request.subresource());
    writer_.Write(std::move(request), Observed(verb, std::move(resource), std::move(done)));
  }
  void Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done) override {
    std::string resource = ResourceName(request.resource(), "");
    writer_.Get(std::move(request), Observed("get", std::move(resource), std::move(done)));
  }
  std::unique_ptr<ObjectWatch> Watch(const v1::Resource& resource, const std::string& ns, const std::string& name,
                                     ObjectSeen seen) override {
    return std::make_unique<ReflectedObject>(objects_, resource, ns, name, std::move(seen));
  }
  std::unique_ptr<KindSearch> FindKind(const std::string& group, const std::string& plural, bool absent,
                                       KindFound found) override {
    return std::make_unique<KindFinder>(kinds_, group, plural, absent, std::move(found));
  }
  void DropUnsent(const std::function<bool(const v1::Owner&)>& is_stale) override {
    writer_.DropWaiting([&](const v1::WriteRequest& request) { return is_stale(request.owner()); });
  }
  absl::Time ApiNow() override { return absl::FromUnixMillis(clock_.NowMs()); }
  int64_t ApiTimeMs() override { return clock_.known() ? clock_.NowMs() : 0; }

  ApiClock& clock() { return clock_; }
  KubeWriter& writer() { return writer_; }

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
  const ReflectedObject::Shared objects_;
  const KindFinder::Shared kinds_;
};

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
      access_(
          std::make_unique<Access>(loop, client, random, metrics, readiness_, WriterFor(options), options.slow_retry)),
      unreadable_(std::make_unique<Unreadable>(*access_, metrics)) {
  std::vector<ReflectorOptions> watches = WatchesFor(options.scheduler_names, options.streaming_lists);
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
  // It stays ready: those who are missing could not attach otherwise.
  options.hub.on_members = [this](const std::string& differs) {
    readiness_.Set("members", {.ready = true,
                               .state = differs.empty() ? "ready" : "incomplete",
                               .why = differs,
                               .cure = differs.empty() ? "" : "start those that are missing, or correct --members"});
  };
  AssignmentStore& store = lead_ ? lead_->assignments() : *alone_;
  hub_ = std::make_unique<Hub>(loop, *access_, store, metrics, ids, std::move(options.hub));
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
