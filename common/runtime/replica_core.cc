// The stream: its items, the acknowledgements, and the workers behind it.
#include "common/runtime/replica_core.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/obs/log.h"
#include "common/runtime/slots/replica_records.h"

namespace basalt::runtime {
namespace {

constexpr std::string_view kGatewayTarget = "gateway";
constexpr std::string_view kSlotsTarget = "slots";

absl::Status NoSession() {
  return MakeStatus(absl::StatusCode::kUnavailable, "no gateway has begun a session with this replica");
}

// Returns whether each slot number in the item is within range.
bool NamesSlots(const gateway::v1::Item& item) {
  const auto is_slot = [](uint32_t slot) { return slot < kSlotCount; };
  switch (item.item_case()) {
    case gateway::v1::Item::kBegin:
      return is_slot(item.begin().slot());
    case gateway::v1::Item::kEnd:
      return is_slot(item.end().slot());
    case gateway::v1::Item::kGrant:
      return is_slot(item.grant().slot());
    case gateway::v1::Item::kState:
      return is_slot(item.state().slot()) || item.state().slot() == kBroadcastSlot;
    case gateway::v1::Item::kTombstone:
      return is_slot(item.tombstone().slot()) || item.tombstone().slot() == kBroadcastSlot;
    case gateway::v1::Item::kOrphanedRecords: {
      const auto& inventory = item.orphaned_records().inventory();
      return std::all_of(inventory.begin(), inventory.end(), [&](const gateway::v1::RecordInventory& records) {
        return std::all_of(records.slots().begin(), records.slots().end(), is_slot);
      });
    }
    default:
      return true;
  }
}

}  // namespace

Replica::Core::Core(RuntimeOptions options, Loop& loop, Random& random, kv::KvStore& store, rpc::GatewayPeer& gateway,
                    rpc::PeerDirectory& peers, obs::Metrics* metrics, obs::Health* health)
    : options_(std::move(options)),
      loop_(loop),
      random_(random.Next()),
      store_(store),
      gateway_(gateway),
      peers_(peers),
      metrics_(metrics),
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
  unacknowledged_ =
      &metrics->GetGauge("basalt_attach_unacknowledged", "Batches from the gateway that are not recorded yet.");
}

void Replica::Core::MakeWorkers(const std::vector<Loop*>& loops, Random& random, obs::Metrics* metrics,
                                const ControllerFactory& factory) {
  for (size_t i = 0; i < loops.size(); ++i) {
    WorkerOptions options{.index = i,
                          .workers = loops.size(),
                          .self = self_,
                          .cluster = options_.cluster,
                          .write_timeout = options_.write_timeout,
                          .resend = options_.resend,
                          .keeps_records = options_.keeps_records};
    auto worker = std::make_shared<Worker>(std::move(options), *loops[i], random.Next(), store_, clock_,
                                           shared_from_this(), metrics);
    worker->SetController(factory(*worker));
    workers_.push_back({std::move(worker)});
  }
}

void Replica::Core::Start() {
  if (stopped_) return;
  const absl::StatusOr<int64_t> last_epoch = LoadLastEpoch(store_, metrics_);
  if (!last_epoch.ok()) return Fail(last_epoch.status());
  last_epoch_ = *last_epoch;
  absl::StatusOr<std::string> name_secret = LoadNameSecret(store_, options_.name_secret);
  if (!name_secret.ok()) return Fail(name_secret.status());
  name_secret_ = *std::move(name_secret);
  const HandOverOptions hand_over{.cluster = options_.cluster, .self = self_};
  takeover_ = std::make_unique<Takeover>(
      hand_over, loop_, random_, store_, peers_,
      Takeover::Callbacks{.taken = [this](int64_t in, std::vector<uint32_t> slots,
                                          std::vector<uint32_t> lost) { Taken(in, slots, lost); },
                          .cleared = [this](const gateway::v1::OrphanedRecords& leftovers) { Cleared(leftovers); },
                          .failed = [this](const absl::Status& why) { Fail(why); }});
  handover_ = std::make_unique<Handover>(hand_over, store_, *takeover_);
  Attach();
}

void Replica::Core::Stop(absl::AnyInvocable<void()> done) {
  stopped_ = true;
  stream_.reset();
  takeover_.reset();
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

// Stops everything at once: only if no other thread can be inside.
void Replica::Core::StopNow() {
  if (stopped_) return;
  stopped_ = true;
  stream_.reset();
  takeover_.reset();
  for (const WorkerState& state : workers_) state.worker->Stop();
}

void Replica::Core::OnWorker(size_t index, absl::AnyInvocable<void(Controller&)> task) {
  const std::shared_ptr<Worker>& worker = workers_[index].worker;
  worker->loop().Post([worker, task = std::move(task)]() mutable {
    if (Controller* const controller = worker->controller(); controller != nullptr) task(*controller);
  });
}

std::shared_ptr<const AssignmentView> Replica::Core::view() const {
  MutexLock lock(view_mutex_);
  return view_;
}

void Replica::Core::OnBatch(gateway::v1::AttachBatch batch) {
  if (stopped_ || failed_ || stream_ == nullptr) return;
  if (batch.sequence() != received_ + 1) {
    return Reattach(MakeStatus(absl::StatusCode::kInternal,
                               fmt::format("batch {} came after batch {}", batch.sequence(), received_)));
  }
  if (!std::all_of(batch.items().begin(), batch.items().end(), NamesSlots)) {
    return Reattach(MakeStatus(absl::StatusCode::kInternal,
                               fmt::format("a batch is about what is no slot; slots are 0 to {}", kSlotCount - 1)));
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
  takeover_->Start();
  if (failed_) return;
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (!deliveries[i].empty()) Deliver(i, std::move(deliveries[i]));
  }
  Acknowledge();
}

void Replica::Core::SendWrite(Loop& loop, gateway::v1::WriteRequest request, absl::Duration timeout,
                              rpc::Done<gateway::v1::WriteResponse> done) {
  loop_.Post(
      [core = shared_from_this(), &loop, request = std::move(request), timeout, done = std::move(done)]() mutable {
        if (core->stopped_ || core->failed_) return;
        if (core->token_.empty()) return core->OnLoop(loop, std::move(done))(NoSession());
        request.mutable_owner()->set_token(core->token_);
        core->gateway_.Write(std::move(request), timeout, core->OnLoop(loop, std::move(done)));
      });
}

void Replica::Core::SendGet(Loop& loop, gateway::v1::GetRequest request, absl::Duration timeout,
                            rpc::Done<gateway::v1::GetResponse> done) {
  loop_.Post(
      [core = shared_from_this(), &loop, request = std::move(request), timeout, done = std::move(done)]() mutable {
        if (core->stopped_ || core->failed_) return;
        if (core->token_.empty()) return core->OnLoop(loop, std::move(done))(NoSession());
        request.mutable_owner()->set_token(core->token_);
        core->gateway_.Get(std::move(request), timeout, core->OnLoop(loop, std::move(done)));
      });
}

void Replica::Core::CallPeer(Loop& loop, std::shared_ptr<rpc::ServicePeer> peer, PeerCall call) {
  loop_.Post([core = shared_from_this(), &loop, peer = std::move(peer), call = std::move(call)]() mutable {
    if (core->stopped_ || core->failed_) return;
    call(*peer, [core, &loop](absl::AnyInvocable<void()> task) {
      if (!core->stopped_) loop.Post(std::move(task));
    });
  });
}

void Replica::Core::SetInterest(size_t worker, std::string watch, std::string ns, std::string name, bool withdraw) {
  loop_.Post([core = shared_from_this(), worker,
              key = WorkerInterests::Key(std::move(watch), std::move(ns), std::move(name)),
              withdraw] { core->ApplyInterest(worker, key, withdraw); });
}

void Replica::Core::Recorded(size_t worker, uint64_t stream, int64_t sequence) {
  loop_.Post([core = shared_from_this(), worker, stream, sequence] {
    if (core->stopped_ || stream != core->stream_id_) return;
    core->workers_[worker].recorded = sequence;
    core->Acknowledge();
  });
}

void Replica::Core::SlotsChanged(size_t worker, size_t ready, std::set<std::string> forbidden) {
  loop_.Post([core = shared_from_this(), worker, ready, forbidden = std::move(forbidden)]() mutable {
    if (core->stopped_) return;
    core->workers_[worker].ready = ready;
    core->workers_[worker].forbidden = std::move(forbidden);
    core->UpdateSlotsHealth();
  });
}

void Replica::Core::Failed(const absl::Status& why) {
  loop_.Post([core = shared_from_this(), why] { core->Fail(why); });
}

void Replica::Core::Attach() {
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
  *hello.mutable_protocols() = rpc::RangeOf(options_.protocols);
  hello.set_slot_count(kSlotCount);
  *hello.mutable_self() = self_;
  hello.set_last_epoch(last_epoch_);
  hello.set_keeps_records(options_.keeps_records);
  hello.set_name_secret(name_secret_);
  takeover_->ForgetGrants();
  if (options_.keeps_records) {
    if (const absl::Status status = AddHeldSlots(store_, hello); !status.ok()) return Fail(status);
  }
  stream_->Send(std::move(request));
  if (leaving_) stream_->Send(LeaveRequest());
  for (const auto& [key, workers] : interests_.all()) stream_->Send(InterestRequest(key, /*withdraw=*/false));
}

void Replica::Core::Reattach(const absl::Status& status) {
  if (stopped_ || failed_ || stream_ == nullptr) return;
  if (leaving_ && status.ok()) {
    loop_.Post([stream = std::shared_ptr<rpc::AttachStream>(std::move(stream_))]() mutable { stream.reset(); });
    FinishLeave();
    return;
  }
  token_.clear();
  if (health_ != nullptr) health_->SetNotReady(kGatewayTarget, status.ToString());
  const absl::Duration wait = back_off_.Next(random_);
  obs::LogWarning("gateway stream ended", {{"status", status.ToString()}, {"again_in", absl::FormatDuration(wait)}});
  // The stream must not be destroyed inside its own callback.
  loop_.Post([stream = std::shared_ptr<rpc::AttachStream>(std::move(stream_))]() mutable { stream.reset(); });
  loop_.RunAfter(wait, [core = shared_from_this()] { core->Attach(); });
}

void Replica::Core::Route(gateway::v1::Item& item, std::vector<std::vector<Worker::Delivery>>& deliveries) {
  const auto to_slot = [&](uint32_t slot) { deliveries[slot % workers_.size()].emplace_back(std::move(item)); };
  const auto emit = [&](SharedEvent event) {
    if (const std::set<size_t>* const workers = interests_.WorkersFor(event.watch, *event.object); workers != nullptr) {
      for (const size_t worker : *workers) deliveries[worker].emplace_back(event);
    } else {
      for (auto& of_worker : deliveries) of_worker.emplace_back(event);
    }
  };
  // An object with a namespace is sent for an interest, which may have been withdrawn meanwhile.
  const auto is_too_late = [this](const std::string& watch, const kube::v1::Object& object) {
    return !Identify(object).ns.empty() && interests_.WorkersFor(watch, object) == nullptr;
  };
  switch (item.item_case()) {
    case gateway::v1::Item::kAssignment:
      return SetAssignment(std::move(*item.mutable_assignment()), deliveries);
    case gateway::v1::Item::kSessionStart:
      token_ = item.session_start().token();
      return;
    case gateway::v1::Item::kGrant:
      return takeover_->Grant(item.grant());
    case gateway::v1::Item::kOrphanedRecords:
      return takeover_->Import(item.orphaned_records(), [of = view()](uint32_t slot) {
        return of != nullptr && slot < of->owned.size() && of->owned[slot];
      });
    case gateway::v1::Item::kBegin:
      takeover_->Forget(item.begin().slot());
      handover_->SetBusy(item.begin().slot(), item.begin().epoch());
      return to_slot(item.begin().slot());
    case gateway::v1::Item::kState:
      if (item.state().slot() != kBroadcastSlot) return to_slot(item.state().slot());
      if (is_too_late(item.state().watch(), item.state().object())) return;
      return shared_.State(item.state(), emit);
    case gateway::v1::Item::kTombstone:
      if (item.tombstone().slot() != kBroadcastSlot) return to_slot(item.tombstone().slot());
      if (is_too_late(item.tombstone().watch(), item.tombstone().last())) return;
      return shared_.Tombstone(item.tombstone(), emit);
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

void Replica::Core::Deliver(size_t index, std::vector<Worker::Delivery> deliveries) {
  WorkerState& state = workers_[index];
  state.delivered = received_;
  state.worker->loop().Post(
      [worker = state.worker, id = stream_id_, sequence = received_, deliveries = std::move(deliveries)]() mutable {
        worker->Deliver(id, sequence, std::move(deliveries));
      });
}

void Replica::Core::Acknowledge() {
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

void Replica::Core::UpdateSlotsHealth() {
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

void Replica::Core::ApplyInterest(size_t worker, const WorkerInterests::Key& key, bool withdraw) {
  if (stopped_ || failed_) return;
  const auto& [watch, ns, name] = key;
  switch (withdraw ? interests_.Drop(worker, key) : interests_.Add(worker, key)) {
    case WorkerInterests::Change::kNone:
      return;
    case WorkerInterests::Change::kJoins:
      // The gateway does not send the object again.
      if (auto object = shared_.Find(watch, ns, name); object != nullptr) {
        std::vector<Worker::Delivery> deliveries;
        deliveries.emplace_back(SharedEvent{watch, std::move(object), false});
        return Deliver(worker, std::move(deliveries));
      }
      break;
    case WorkerInterests::Change::kLast:
      shared_.Forget(watch, ns, name);
      break;
    case WorkerInterests::Change::kFirst:
      break;
  }
  if (stream_ != nullptr) stream_->Send(InterestRequest(key, withdraw));
}

void Replica::Core::Fail(const absl::Status& why) {
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
  FinishLeave();
  if (options_.on_failure) options_.on_failure(why);
}

}  // namespace basalt::runtime
