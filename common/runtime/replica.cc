#include "common/runtime/replica.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "common/base/mutex.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/obs/log.h"
#include "common/runtime/shared_objects.h"
#include "common/runtime/worker.h"

namespace basalt::runtime {
namespace {

constexpr std::string_view kEpochKey = "!epoch";
constexpr std::string_view kGatewayTarget = "gateway";
constexpr std::string_view kSlotsTarget = "slots";

std::vector<gateway::v1::Member> MembersOf(const gateway::v1::Assignment& assignment,
                                           gateway::v1::ServiceKind service) {
  std::vector<gateway::v1::Member> members;
  for (const gateway::v1::Member& member : assignment.members()) {
    if (member.service() == service) members.push_back(member);
  }
  return members;
}

std::optional<size_t> OwnerIndex(const std::vector<gateway::v1::Member>& members, uint32_t slot) {
  if (members.empty()) return std::nullopt;
  std::vector<std::string_view> names;
  for (const gateway::v1::Member& member : members) names.push_back(member.replica());
  return RendezvousOwner(names, slot);
}

}  // namespace

// The part on the main loop. Tasks hold it, so that nothing they need goes away under them.
class Replica::Core final : public WorkerHost, public rpc::AttachObserver, public std::enable_shared_from_this<Core> {
 public:
  Core(RuntimeOptions options, Loop& loop, Random& random, kv::KvStore& store, rpc::GatewayPeer& gateway,
       rpc::PeerDirectory& peers, obs::Metrics* metrics, obs::Health* health)
      : options_(std::move(options)),
        loop_(loop),
        random_(random.Next()),
        store_(store),
        gateway_(gateway),
        peers_(peers),
        health_(health),
        back_off_(options_.reattach) {
    self_.set_service(options_.service);
    self_.set_replica(options_.replica);
    self_.set_incarnation(MakeUuid(random));
    self_.set_address(options_.address);
    if (health_ != nullptr) {
      health_->AddTarget(kGatewayTarget, "not attached yet");
      health_->AddTarget(kSlotsTarget, "no assignment yet");
    }
    if (metrics == nullptr) return;
    batches_ = &metrics->GetCounter("basalt_attach_batches_total", "Batches from the gateway.");
    items_ = &metrics->GetCounter("basalt_attach_items_total", "Items from the gateway.");
    unacknowledged_ = &metrics->GetGauge("basalt_attach_unacknowledged", "Batches not recorded yet.");
  }

  void SetAddress(std::string address) { self_.set_address(std::move(address)); }

  void MakeWorkers(const std::vector<Loop*>& loops, Random& random, obs::Metrics* metrics,
                   const ControllerFactory& factory) {
    for (size_t i = 0; i < loops.size(); ++i) {
      WorkerOptions options{.index = i,
                            .workers = loops.size(),
                            .self = self_,
                            .write_timeout = options_.write_timeout,
                            .resend = options_.resend};
      auto worker = std::make_shared<Worker>(std::move(options), *loops[i], random.Next(), store_, clock_,
                                             shared_from_this(), metrics);
      worker->SetController(factory(*worker));
      workers_.push_back({std::move(worker)});
    }
  }

  void Start() {
    if (stopped_) return;
    const absl::StatusOr<std::optional<std::string>> stored = store_.Get(kv::Family::kMeta, kEpochKey);
    if (!stored.ok()) return Fail(stored.status());
    uint64_t epoch = 0;
    if (stored->has_value()) {
      std::string_view bytes = **stored;
      if (!kv::TakeFixed64(bytes, epoch)) return Fail(absl::DataLossError("the stored epoch cannot be read"));
    }
    last_epoch_ = static_cast<int64_t>(epoch);
    Attach();
  }

  void Stop(absl::AnyInvocable<void()> done) {
    stopped_ = true;
    stream_.reset();
    auto left = std::make_shared<size_t>(workers_.size());
    auto shared_done = std::make_shared<absl::AnyInvocable<void()>>(std::move(done));
    for (const WorkerState& state : workers_) {
      state.worker->loop().Post([core = shared_from_this(), worker = state.worker, left, shared_done] {
        worker->Stop();
        core->loop_.Post([left, shared_done] {
          if (--*left == 0) (*shared_done)();
        });
      });
    }
    if (workers_.empty()) (*shared_done)();
  }

  // Everything at once: only where no other thread can be inside.
  void StopNow() {
    if (stopped_) return;
    stopped_ = true;
    stream_.reset();
    for (const WorkerState& state : workers_) state.worker->Stop();
  }

  Loop& loop() { return loop_; }
  const gateway::v1::Member& self() const { return self_; }
  size_t worker_count() const { return workers_.size(); }

  void OnWorker(size_t index, absl::AnyInvocable<void(Controller&)> task) {
    const std::shared_ptr<Worker>& worker = workers_[index].worker;
    worker->loop().Post([worker, task = std::move(task)]() mutable {
      if (!worker->stopped()) task(worker->controller());
    });
  }

  std::shared_ptr<const AssignmentView> view() const {
    MutexLock lock(view_mutex_);
    return view_;
  }

  // ---- AttachObserver ----

  void OnBatch(gateway::v1::AttachBatch batch) override {
    if (stopped_ || failed_ || stream_ == nullptr) return;
    if (batch.sequence() != received_ + 1) {
      return Reattach(MakeStatus(absl::StatusCode::kInternal,
                                 fmt::format("batch {} came after batch {}", batch.sequence(), received_)));
    }
    received_ = batch.sequence();
    if (received_ == 1) {
      back_off_.Reset();
      if (health_ != nullptr) health_->SetReady(kGatewayTarget);
    }
    if (batch.api_time_ms() != 0) clock_->Update(absl::FromUnixMillis(batch.api_time_ms()), loop_.Now());
    if (batches_ != nullptr) {
      batches_->Add();
      items_->Add(batch.items_size());
    }
    std::vector<std::vector<Worker::Delivery>> deliveries(workers_.size());
    for (gateway::v1::Item& item : *batch.mutable_items()) {
      Route(item, deliveries);
      if (failed_) return;
    }
    for (size_t i = 0; i < workers_.size(); ++i) {
      if (!deliveries[i].empty()) Deliver(i, std::move(deliveries[i]));
    }
    Acknowledge();
  }

  void OnClosed(const absl::Status& status) override { Reattach(status); }

  // ---- WorkerHost: any thread ----

  void SendWrite(Loop& loop, gateway::v1::WriteRequest request, absl::Duration timeout,
                 rpc::Done<gateway::v1::WriteResponse> done) override {
    loop_.Post(
        [core = shared_from_this(), &loop, request = std::move(request), timeout, done = std::move(done)]() mutable {
          if (core->stopped_ || core->failed_) return;
          core->gateway_.Write(std::move(request), timeout, core->OnLoop(loop, std::move(done)));
        });
  }

  void SendGet(Loop& loop, gateway::v1::GetRequest request, absl::Duration timeout,
               rpc::Done<gateway::v1::GetResponse> done) override {
    loop_.Post(
        [core = shared_from_this(), &loop, request = std::move(request), timeout, done = std::move(done)]() mutable {
          if (core->stopped_ || core->failed_) return;
          core->gateway_.Get(std::move(request), timeout, core->OnLoop(loop, std::move(done)));
        });
  }

  void EnsurePodGroup(Loop& loop, std::shared_ptr<rpc::PodGroupPeer> peer, podgroup::v1::EnsurePodGroupRequest request,
                      absl::Duration timeout, rpc::Done<podgroup::v1::EnsurePodGroupResponse> done) override {
    loop_.Post([core = shared_from_this(), &loop, peer = std::move(peer), request = std::move(request), timeout,
                done = std::move(done)]() mutable {
      if (core->stopped_ || core->failed_) return;
      peer->EnsurePodGroup(std::move(request), timeout, core->OnLoop(loop, std::move(done)));
    });
  }

  void SetInterest(size_t worker, std::string watch, std::string ns, std::string name, bool withdraw) override {
    loop_.Post([core = shared_from_this(), worker, key = InterestKey(std::move(watch), std::move(ns), std::move(name)),
                withdraw] { core->ApplyInterest(worker, key, withdraw); });
  }

  void Recorded(size_t worker, uint64_t stream, int64_t sequence) override {
    loop_.Post([core = shared_from_this(), worker, stream, sequence] {
      if (core->stopped_ || stream != core->stream_id_) return;
      core->workers_[worker].recorded = sequence;
      core->Acknowledge();
    });
  }

  void Released(int64_t epoch, std::vector<uint32_t> slots) override {
    loop_.Post([core = shared_from_this(), epoch, slots = std::move(slots)] {
      if (core->stopped_ || core->failed_ || core->stream_ == nullptr) return;
      gateway::v1::AttachRequest request;
      request.mutable_released()->set_epoch(epoch);
      for (const uint32_t slot : slots) request.mutable_released()->add_slots(slot);
      core->stream_->Send(std::move(request));
    });
  }

  void SlotsChanged(size_t worker, size_t ready, std::set<std::string> forbidden) override {
    loop_.Post([core = shared_from_this(), worker, ready, forbidden = std::move(forbidden)]() mutable {
      if (core->stopped_) return;
      core->workers_[worker].ready = ready;
      core->workers_[worker].forbidden = std::move(forbidden);
      core->UpdateSlotsHealth();
    });
  }

  void Failed(const absl::Status& why) override {
    loop_.Post([core = shared_from_this(), why] { core->Fail(why); });
  }

 private:
  using InterestKey = std::tuple<std::string, std::string, std::string>;  // (watch, namespace, name)

  struct WorkerState {
    std::shared_ptr<Worker> worker;
    int64_t delivered = 0;  // Sequence of the last batch that had something for it.
    int64_t recorded = 0;
    size_t ready = 0;
    std::set<std::string> forbidden;
  };

  // From the main loop to a worker's. Once the replica has stopped, the loops of its workers may be gone.
  template <typename T>
  rpc::Done<T> OnLoop(Loop& loop, rpc::Done<T> done) {
    return [core = shared_from_this(), &loop, done = std::move(done)](absl::StatusOr<T> answer) mutable {
      if (core->stopped_) return;
      loop.Post([done = std::move(done), answer = std::move(answer)]() mutable { done(std::move(answer)); });
    };
  }

  void Attach() {
    if (stopped_ || failed_) return;
    ++stream_id_;
    received_ = 0;
    acknowledged_ = 0;
    shared_.NewStream();
    for (WorkerState& state : workers_) {
      state.delivered = state.recorded = 0;
      state.worker->loop().Post([worker = state.worker, id = stream_id_] { worker->StartStream(id); });
    }
    stream_ = gateway_.Attach(*this);
    gateway::v1::AttachRequest request;
    gateway::v1::Hello& hello = *request.mutable_hello();
    hello.set_cluster(options_.cluster);
    hello.set_version(options_.version);
    hello.set_slot_count(kSlotCount);
    *hello.mutable_self() = self_;
    hello.set_last_epoch(last_epoch_);
    stream_->Send(std::move(request));
    for (const auto& [key, workers] : interests_) SendInterest(key, false);
  }

  void Reattach(const absl::Status& status) {
    if (stopped_ || failed_ || stream_ == nullptr) return;
    if (health_ != nullptr) health_->SetNotReady(kGatewayTarget, status.ToString());
    const absl::Duration wait = back_off_.Next(random_);
    obs::LogWarning("gateway stream ended", {{"status", status.ToString()}, {"again_in", absl::FormatDuration(wait)}});
    // Not from inside its own callback.
    loop_.Post([stream = std::shared_ptr<rpc::AttachStream>(std::move(stream_))]() mutable { stream.reset(); });
    loop_.RunAfter(wait, [core = shared_from_this()] { core->Attach(); });
  }

  void Route(gateway::v1::Item& item, std::vector<std::vector<Worker::Delivery>>& deliveries) {
    const auto to_slot = [&](uint32_t slot) { deliveries[slot % workers_.size()].emplace_back(std::move(item)); };
    const auto emit = [&](SharedEvent event) { ToInterested(std::move(event), deliveries); };
    switch (item.item_case()) {
      case gateway::v1::Item::kAssignment:
        return SetAssignment(std::move(*item.mutable_assignment()), deliveries);
      case gateway::v1::Item::kBegin:
        return to_slot(item.begin().slot());
      case gateway::v1::Item::kState:
        if (item.state().slot() == kBroadcastSlot) return shared_.State(item.state(), emit);
        return to_slot(item.state().slot());
      case gateway::v1::Item::kTombstone:
        if (item.tombstone().slot() == kBroadcastSlot) return shared_.Tombstone(item.tombstone(), emit);
        return to_slot(item.tombstone().slot());
      case gateway::v1::Item::kEnd:
        for (const gateway::v1::Mark& mark : item.end().marks()) shared_.Mark(mark, emit);
        return to_slot(item.end().slot());
      case gateway::v1::Item::kProgress:
        for (const gateway::v1::Mark& mark : item.progress().marks()) shared_.Mark(mark, emit);
        for (auto& of_worker : deliveries) of_worker.emplace_back(item);
        return;
      case gateway::v1::Item::ITEM_NOT_SET:
        return;
    }
  }

  void ToInterested(SharedEvent event, std::vector<std::vector<Worker::Delivery>>& deliveries) {
    const ObjectIdentity identity = Identify(*event.object);
    const auto it = interests_.find({event.watch, std::string(identity.ns), std::string(identity.name)});
    if (it == interests_.end()) {
      for (auto& of_worker : deliveries) of_worker.emplace_back(event);
    } else {
      for (const size_t worker : it->second) deliveries[worker].emplace_back(event);
    }
  }

  void Deliver(size_t index, std::vector<Worker::Delivery> deliveries) {
    WorkerState& state = workers_[index];
    state.delivered = received_;
    state.worker->loop().Post(
        [worker = state.worker, id = stream_id_, sequence = received_, deliveries = std::move(deliveries)]() mutable {
          worker->Deliver(id, sequence, std::move(deliveries));
        });
  }

  void Acknowledge() {
    int64_t recorded = received_;
    for (const WorkerState& state : workers_) {
      if (state.recorded < state.delivered) recorded = std::min(recorded, state.recorded);
    }
    if (unacknowledged_ != nullptr) unacknowledged_->Set(static_cast<double>(received_ - recorded));
    if (recorded <= acknowledged_ || stream_ == nullptr || failed_) return;
    acknowledged_ = recorded;
    gateway::v1::AttachRequest request;
    request.mutable_ack()->set_sequence(recorded);
    stream_->Send(std::move(request));
  }

  void SetAssignment(gateway::v1::Assignment assignment, std::vector<std::vector<Worker::Delivery>>& deliveries) {
    auto view = std::make_shared<AssignmentView>();
    const std::vector<gateway::v1::Member> mine = MembersOf(assignment, options_.service);
    view->owned.resize(kSlotCount);
    owned_ = 0;
    for (uint32_t slot = 0; slot < kSlotCount; ++slot) {
      const std::optional<size_t> owner = OwnerIndex(mine, slot);
      view->owned[slot] = owner.has_value() && mine[*owner].replica() == self_.replica() &&
                          mine[*owner].incarnation() == self_.incarnation();
      owned_ += view->owned[slot] ? 1 : 0;
    }
    std::map<std::string, std::shared_ptr<rpc::PodGroupPeer>> group_peers;
    for (const gateway::v1::Member& member : MembersOf(assignment, gateway::v1::SERVICE_KIND_POD_GROUP)) {
      const std::string id = member.SerializeAsString();
      const auto known = group_peers_.find(id);
      auto peer = known != group_peers_.end() ? known->second : peers_.PodGroups(member);
      view->group_members.push_back(member.replica());
      view->group_peers.push_back(peer);
      group_peers.emplace(id, std::move(peer));
    }
    group_peers_ = std::move(group_peers);
    if (assignment.epoch() > last_epoch_) {
      last_epoch_ = assignment.epoch();
      std::string value;
      kv::PutFixed64(value, static_cast<uint64_t>(last_epoch_));
      kv::WriteBatch batch;
      batch.Put(kv::Family::kMeta, kEpochKey, value);
      if (const absl::Status status = store_.Write(batch); !status.ok()) return Fail(status);
    }
    view->assignment = std::move(assignment);
    {
      MutexLock lock(view_mutex_);
      view_ = view;
    }
    for (auto& of_worker : deliveries) of_worker.emplace_back(std::shared_ptr<const AssignmentView>(view));
    UpdateSlotsHealth();
  }

  void UpdateSlotsHealth() {
    if (health_ == nullptr || failed_) return;
    size_t ready = 0;
    std::set<std::string> forbidden;
    for (const WorkerState& state : workers_) {
      ready += state.ready;
      forbidden.insert(state.forbidden.begin(), state.forbidden.end());
    }
    if (!forbidden.empty()) {
      health_->SetNotReady(kSlotsTarget, fmt::format("the API server forbids {}", fmt::join(forbidden, ", ")));
    } else if (ready < owned_ || view() == nullptr) {
      health_->SetNotReady(kSlotsTarget, fmt::format("{} of {} slots have their snapshot", ready, owned_));
    } else {
      health_->SetReady(kSlotsTarget);
    }
  }

  void ApplyInterest(size_t worker, const InterestKey& key, bool withdraw) {
    if (stopped_ || failed_) return;
    if (withdraw) {
      const auto it = interests_.find(key);
      if (it == interests_.end() || it->second.erase(worker) == 0 || !it->second.empty()) return;
      interests_.erase(it);
      shared_.Forget(std::get<0>(key), std::get<1>(key), std::get<2>(key));
      SendInterest(key, true);
      return;
    }
    std::set<size_t>& workers = interests_[key];
    const bool first = workers.empty();
    if (!workers.insert(worker).second) return;
    if (first) return SendInterest(key, false);
    // Another worker has asked before: what came then is all there is.
    auto object = shared_.Find(std::get<0>(key), std::get<1>(key), std::get<2>(key));
    if (object == nullptr) return SendInterest(key, false);
    std::vector<Worker::Delivery> deliveries;
    deliveries.emplace_back(SharedEvent{std::get<0>(key), std::move(object), false});
    Deliver(worker, std::move(deliveries));
  }

  void SendInterest(const InterestKey& key, bool withdraw) {
    if (stream_ == nullptr) return;
    gateway::v1::AttachRequest request;
    gateway::v1::Interest& interest = *request.mutable_interest();
    interest.set_watch(std::get<0>(key));
    interest.set_namespace_(std::get<1>(key));
    interest.set_name(std::get<2>(key));
    interest.set_withdraw(withdraw);
    stream_->Send(std::move(request));
  }

  void Fail(const absl::Status& why) {
    if (failed_ || stopped_) return;
    failed_ = true;
    obs::LogError("replica stops", {{"why", why.ToString()}});
    if (health_ != nullptr) health_->SetNotReady("runtime", why.ToString());
    for (const WorkerState& state : workers_) {
      state.worker->loop().Post([worker = state.worker] { worker->Halt(); });
    }
    if (stream_ != nullptr) {
      loop_.Post([stream = std::shared_ptr<rpc::AttachStream>(std::move(stream_))]() mutable { stream.reset(); });
    }
    if (options_.on_failure) options_.on_failure(why);
  }

  const RuntimeOptions options_;
  Loop& loop_;
  SeededRandom random_;
  kv::KvStore& store_;
  rpc::GatewayPeer& gateway_;
  rpc::PeerDirectory& peers_;
  obs::Health* const health_;
  obs::Counter* batches_ = nullptr;
  obs::Counter* items_ = nullptr;
  obs::Gauge* unacknowledged_ = nullptr;
  gateway::v1::Member self_;
  const std::shared_ptr<ApiClock> clock_ = std::make_shared<ApiClock>();
  std::vector<WorkerState> workers_;
  BackOff back_off_;
  bool stopped_ = false;
  bool failed_ = false;

  std::unique_ptr<rpc::AttachStream> stream_;
  uint64_t stream_id_ = 0;
  int64_t received_ = 0;
  int64_t acknowledged_ = 0;
  int64_t last_epoch_ = 0;
  size_t owned_ = 0;
  SharedObjects shared_;
  std::map<InterestKey, std::set<size_t>> interests_;
  std::map<std::string, std::shared_ptr<rpc::PodGroupPeer>> group_peers_;  // By the serialised member.
  mutable Mutex view_mutex_;
  std::shared_ptr<const AssignmentView> view_ BASALT_GUARDED_BY(view_mutex_);
};

Replica::Replica(RuntimeOptions options, Loop& main_loop, std::vector<Loop*> worker_loops, Random& random,
                 kv::KvStore& store, rpc::GatewayPeer& gateway, rpc::PeerDirectory& peers, obs::Metrics* metrics,
                 obs::Health* health, const ControllerFactory& factory)
    : core_(std::make_shared<Core>(std::move(options), main_loop, random, store, gateway, peers, metrics, health)) {
  core_->MakeWorkers(worker_loops, random, metrics, factory);
}

Replica::~Replica() { core_->StopNow(); }

void Replica::SetAddress(std::string address) { core_->SetAddress(std::move(address)); }

void Replica::Start() {
  core_->loop().Post([core = core_] { core->Start(); });
}

void Replica::Stop(absl::AnyInvocable<void()> done) {
  core_->loop().Post([core = core_, done = std::move(done)]() mutable { core->Stop(std::move(done)); });
}

const gateway::v1::Member& Replica::self() const { return core_->self(); }

size_t Replica::workers() const { return core_->worker_count(); }

void Replica::OnWorkerOf(uint32_t slot, absl::AnyInvocable<void(Controller&)> task) {
  core_->OnWorker(WorkerOf(slot, workers()), std::move(task));
}

void Replica::OnWorker(size_t worker, absl::AnyInvocable<void(Controller&)> task) {
  core_->OnWorker(worker, std::move(task));
}

std::vector<gateway::v1::Member> Replica::Members(gateway::v1::ServiceKind service) const {
  const std::shared_ptr<const AssignmentView> view = core_->view();
  return view == nullptr ? std::vector<gateway::v1::Member>() : MembersOf(view->assignment, service);
}

std::optional<gateway::v1::Member> Replica::OwnerOf(gateway::v1::ServiceKind service, std::string_view key) const {
  const std::vector<gateway::v1::Member> members = Members(service);
  const std::optional<size_t> owner = OwnerIndex(members, SlotOf(key));
  if (!owner.has_value()) return std::nullopt;
  return members[*owner];
}

}  // namespace basalt::runtime
