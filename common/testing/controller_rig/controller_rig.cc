#include "common/testing/controller_rig/controller_rig.h"

#include <gtest/gtest.h>

#include <utility>

#include "common/base/slots.h"
#include "common/kube/names.h"
#include "common/runtime/objects/object_identity.h"
#include "common/testing/controller_rig/rig_process.h"
#include "gateway/route/routes.h"

namespace basalt::testing {
namespace {

// Pods of other owners than jobs are watched by the name of their scheduler.
bool IsWatched(const std::string& watch) {
  if (!watch.starts_with(kube::kWatchSchedulerPodsPrefix)) return !watch.empty();
  const std::string scheduler = watch.substr(kube::kWatchSchedulerPodsPrefix.size());
  return scheduler == kube::kDefaultScheduler || scheduler == kube::kKaiScheduler;
}

std::string UidOf(const kube::v1::Object& object) { return std::string(runtime::Identify(object).uid); }

}  // namespace

ControllerRig::ControllerRig(Parts parts) : parts_(std::move(parts)), server_(time_), disk_(kv::MakeMemDisk()) {
  server_.Follow([this](const RigKube::Change& change) { OnChange(change); });
}

ControllerRig::~ControllerRig() { Shutdown(); }

void ControllerRig::Shutdown() {
  Kill();
  dead_.clear();
}

runtime::Controller& ControllerRig::any_controller() { return *process_->controller; }
kv::KvStore& ControllerRig::store() { return *process_->store; }

// ---- the process ----

void ControllerRig::Start() {
  Kill();
  // A snapshot ends after the writes that the previous incarnation has sent, as with the gateway.
  time_.AdvanceUntil([this] { return in_flight_ == 0; }, absl::Seconds(10));
  server_.Sync();
  process_ = std::make_unique<Process>(time_, ++seed_);
  ++epoch_;
  Process& process = *process_;
  process.store = kv::OpenMemKv(disk_);
  process.context = std::make_unique<RigContext>(*this, process);
  for (const auto& [service, make] : parts_.peers) process.peers[service] = make(*process.context);
  process.controller = parts_.controller(*process.context);
  Snapshot([](uint32_t) { return true; }, OpenInController(0, kSlotCount - 1));
}

std::map<std::string, runtime::KnownObject> ControllerRig::OpenInController(uint32_t first, uint32_t last) {
  std::map<std::string, runtime::KnownObject> known;
  for (uint32_t slot = first; slot <= last; ++slot) {
    auto opened = process_->controller->OpenSlot(slot);
    if (!opened.ok()) process_->context->Fail(opened.status());
    for (runtime::KnownObject& object : *opened) known[object.uid] = object;
  }
  return known;
}

void ControllerRig::Snapshot(const std::function<bool(uint32_t slot)>& has,
                             std::map<std::string, runtime::KnownObject> known) {
  for (const kube::v1::Object& last : std::exchange(ends, {})) {
    known.erase(UidOf(last));
    Deliver(last, true);
  }
  for (const auto& [uid, object] : std::map(there_)) {
    const std::string key = KeyOf(object);
    if (!gateway::IsBroadcast(object) && (key.empty() || !has(SlotOf(key)))) continue;
    known.erase(uid);
    const auto lagging = older.find(uid);
    if (!uncertain.contains(uid)) Deliver(lagging == older.end() ? object : lagging->second, false);
  }
  for (const auto& [uid, object] : known) {
    const runtime::Gone gone{runtime::Gone::Reason::kAbsent, object.watch, uid, object.ns, object.name,
                             object.resource_version,        nullptr};
    process_->controller->OnGone(object.routing_key, gone);
    process_->dirty.insert(object.routing_key);
  }
  PostRound();
}

void ControllerRig::Kill() {
  if (process_ == nullptr) return;
  *process_->alive = false;
  process_->loop.Kill();
  dead_.push_back(std::move(process_));
}

bool ControllerRig::Point() {
  ++points_;
  if (kill_at_ == 0 || points_ != kill_at_) return false;
  kill_at_ = 0;
  Kill();
  return true;
}

void ControllerRig::SetApiClock(absl::Duration ahead) {
  const absl::Duration before = std::exchange(server_.loop().ahead, ahead);
  if (alive()) process_->context->ClockChanged(before - ahead);
}

// ---- slots ----

void ControllerRig::CloseSlot(uint32_t slot) {
  Process& process = *process_;
  process.epochs[slot] = 0;
  ++process.generations[slot];
  process.controller->CloseSlot(slot);
  std::erase_if(process.dirty, [slot](const std::string& key) { return SlotOf(key) == slot; });
  std::erase_if(process.seen, [slot](const auto& entry) { return SlotOf(entry.second.key) == slot; });
  std::erase_if(process.timers, [&](const auto& entry) {
    if (SlotOf(entry.first) != slot) return false;
    process.loop.Cancel(entry.second.second);
    return true;
  });
}

void ControllerRig::OpenSlot(uint32_t slot) {
  server_.Sync();
  process_->epochs[slot] = ++epoch_;
  ++process_->generations[slot];
  Snapshot([slot](uint32_t one) { return one == slot; }, OpenInController(slot, slot));
}

// ---- states and ends ----

void ControllerRig::OnChange(const RigKube::Change& change) {
  if (!change.object.has_generic()) {
    if (change.gone) {
      there_.erase(UidOf(change.object));
    } else {
      there_[UidOf(change.object)] = change.object;
    }
    return Show(change.object, change.gone);
  }
  if (!alive()) return;
  process_->loop.RunAfter(kRigLatency, [this, watch = change.resource, object = change.object, gone = change.gone] {
    DeliverInterest(watch, object, gone);
  });
}

void ControllerRig::Show(const kube::v1::Object& object, bool gone) {
  if (!alive()) return;
  const absl::Duration more = late ? late(object, gone) : absl::ZeroDuration();
  process_->loop.RunAfter(kRigLatency + more, [this, object, gone] { Deliver(object, gone); });
}

std::string ControllerRig::KeyOf(const kube::v1::Object& object) const {
  const std::string watch = runtime::WatchOf(object);
  if (!IsWatched(watch) || !gateway::Uses(parts_.service, watch)) return "";
  const gateway::RouteOptions options{.kai_scheduler_names = {std::string(kube::kKaiScheduler)},
                                      .is_rich = parts_.is_rich};
  for (const gateway::Route& route : gateway::Routes(object, options)) {
    if (route.service == parts_.service) return route.key;
  }
  return "";
}

void ControllerRig::Deliver(const kube::v1::Object& object, bool gone) {
  if (!alive()) return;
  Process& process = *process_;
  const std::string uid = UidOf(object);
  const int64_t version = runtime::Identify(object).resource_version;
  if (process.gone.contains(uid)) return;
  const auto seen = process.seen.find(uid);
  const bool known = seen != process.seen.end();
  if (known && !gone && version <= seen->second.resource_version) return;
  if (gateway::IsBroadcast(object)) {
    process.seen[uid].resource_version = version;
    if (gone) process.gone.insert(uid);
    return process.controller->OnShared(runtime::WatchOf(object), object, gone);
  }
  const std::string key = KeyOf(object);
  if (known && !gone && seen->second.key != key) {
    // The object belongs to another key now, or to none.
    const std::string before = std::exchange(seen->second.key, key);
    DeliverGone(object, before, runtime::Gone::Reason::kLeft);
  }
  if (key.empty() || process.context->SlotEpoch(SlotOf(key)) == 0) return;
  process.seen[uid] = {version, key};
  if (gone) {
    process.gone.insert(uid);
    return DeliverGone(object, key, runtime::Gone::Reason::kDeleted);
  }
  DeliverState(object, key);
}

void ControllerRig::DeliverAnswer(const std::string& key, const kube::v1::Object& object, bool gone) {
  const bool is_broadcast = gateway::IsBroadcast(object) && !gone;
  if (!is_broadcast) return Deliver(object, gone);
  if (alive()) DeliverState(object, key);
}

void ControllerRig::DeliverState(const kube::v1::Object& object, const std::string& key) {
  kube::v1::Object state = object;
  gateway::ReduceFor(parts_.service, state);
  process_->controller->OnState(key, runtime::WatchOf(object), std::move(state));
  process_->dirty.insert(key);
  PostRound();
}

void ControllerRig::DeliverGone(const kube::v1::Object& object, const std::string& key, runtime::Gone::Reason reason) {
  if (key.empty() || process_->context->SlotEpoch(SlotOf(key)) == 0) return;
  const runtime::ObjectIdentity identity = runtime::Identify(object);
  const runtime::Gone gone{reason,
                           runtime::WatchOf(object),
                           std::string(identity.uid),
                           std::string(identity.ns),
                           std::string(identity.name),
                           identity.resource_version,
                           &object};
  process_->controller->OnGone(key, gone);
  process_->dirty.insert(key);
  PostRound();
}

void ControllerRig::DeliverInterest(const std::string& watch, const kube::v1::Object& object, bool gone) {
  if (!alive()) return;
  const kube::v1::ObjectMeta& meta = object.generic().meta();
  if (process_->interests.contains(InterestOf(watch, meta.namespace_(), meta.name()))) {
    process_->controller->OnShared(watch, object, gone);
  } else if (meta.namespace_().empty()) {
    DeliverOfCluster(watch, object, gone);
  }
}

// Delivers an object of the whole cluster for each namespace that has an interest in it, as the gateway does.
void ControllerRig::DeliverOfCluster(const std::string& watch, const kube::v1::Object& object, bool gone) {
  const std::string prefix = watch + " ";
  const std::string suffix = "/" + object.generic().meta().name();
  std::vector<std::string> namespaces;
  for (const std::string& interest : process_->interests) {
    if (!interest.starts_with(prefix) || !interest.ends_with(suffix)) continue;
    namespaces.push_back(interest.substr(prefix.size(), interest.size() - prefix.size() - suffix.size()));
  }
  for (const std::string& ns : namespaces) {
    kube::v1::Object placed = object;
    placed.mutable_generic()->mutable_meta()->set_namespace_(ns);
    process_->controller->OnShared(watch, placed, gone);
  }
}

std::set<std::string> ControllerRig::Interests() const {
  return process_ == nullptr ? std::set<std::string>() : process_->interests;
}

// ---- rounds ----

void ControllerRig::PostRound() {
  if (process_ == nullptr || process_->round_posted) return;
  process_->round_posted = true;
  process_->loop.Post([this] { Round(); });
}

void ControllerRig::Round() {
  Process& process = *process_;  // Stays valid if the process dies, in `dead_`.
  process.round_posted = false;
  ++rounds_;
  std::set<std::string> keys;
  keys.swap(process.dirty);
  kv::WriteBatch batch;
  for (const std::string& key : keys) {
    ++passes_[key];
    process.controller->Decide(key, batch);
  }
  if (on_record) on_record(batch);
  if (!batch.empty()) {
    if (Point()) return;
    if (const absl::Status status = process.store->Write(batch); !status.ok()) process.context->Fail(status);
    if (Point()) return;
  }
  for (const std::string& key : keys) {
    process.controller->Act(key);
    if (!alive()) return;
  }
}

}  // namespace basalt::testing
