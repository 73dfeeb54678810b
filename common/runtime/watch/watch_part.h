#pragma once

// A replica's part of a client's watch: publishes the changes to the objects of the replica's slots, through the hub
// that its controllers publish to. Confined to the loop of the handlers, except for the tasks on the workers' loops
// that fill it.
//
// `Watched` describes the watch of a service. Beside the members that common/rpc/watch/merged_watch.h needs:
//   Object                        the message of one object, with object().meta();
//   Controller                    with context(), publisher() and ForEachShown(slot, const VisitObject&);
//   Make(Controller&, key)        the message of an object that exists; null if there is none;
//   CopyObject(const google::protobuf::Message& made, PartResponse&)
//   MarkGone(key, Object&)        optional: adds what the key of a gone object contains beside namespace and name.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/base/slot_set.h"
#include "common/kube/object_key.h"
#include "common/rpc/feed.h"
#include "common/rpc/watch/merged_watch.h"
#include "common/runtime/typed_replica.h"
#include "common/runtime/watch/publisher.h"
#include "common/watch/watch_hub.h"
#include "common/watch/watch_token.h"

namespace basalt::runtime {

// Returns a message that identifies an object which has gone; nothing else is known of it.
template <typename Watched>
watch::WatchHub::Message MakeGone(const std::string& key, const std::string& uid) {
  auto message = std::make_shared<typename Watched::Object>();
  kube::v1::ObjectMeta& meta = *message->mutable_object()->mutable_meta();
  const auto [ns, name] = kube::SplitKey(key);
  meta.set_namespace_(std::string(ns));
  meta.set_name(std::string(name));
  meta.set_uid(uid);
  if constexpr (requires { Watched::MarkGone(key, *message); }) Watched::MarkGone(key, *message);
  return message;
}

// Publishes the controller's changes to the hub, on the controller's loop. Call it once for each controller, before its
// first slot; the hub outlives it.
template <typename Watched>
void PublishChanges(typename Watched::Controller& controller, watch::WatchHub& hub) {
  controller.publisher().SetListener([&controller, &hub](const ShownChange& change) {
    switch (change.kind) {
      case ShownChange::Kind::kShown:
        hub.Publish(change.slot, change.position, change.key, [&] { return Watched::Make(controller, change.key); });
        break;
      case ShownChange::Kind::kGone:
        hub.PublishDeleted(change.slot, change.position, change.key,
                           [&] { return MakeGone<Watched>(change.key, change.uid); });
        break;
      case ShownChange::Kind::kUnseen:
        hub.DropUnpublished(change.slot, change.key);
        break;
      case ShownChange::Kind::kClosed:
        hub.Close(change.slot);
        break;
    }
  });
}

template <typename Watched>
class WatchPart final : public rpc::Feed<typename Watched::PartResponse> {
 public:
  using Controller = typename Watched::Controller;
  using Response = typename Watched::PartResponse;

  // The workers outlive the part.
  WatchPart(Workers<Controller>& workers, std::shared_ptr<watch::WatchHub> hub,
            watch::WatchHub::SubscriptionPtr subscription)
      : workers_(workers), hub_(std::move(hub)), subscription_(std::move(subscription)) {
    Fill();
  }
  ~WatchPart() override { hub_->Unsubscribe(subscription_); }
  bool Take(Response* response) override {
    const std::optional<watch::WatchEvent> event = hub_->Take(subscription_);
    if (event) ToResponse(*event, *response);
    Fill();
    return event.has_value();
  }
  std::optional<absl::Status> End() override { return std::nullopt; }
  void Tick() override { hub_->WantProgress(subscription_); }

 private:
  using Subscription = watch::WatchHub::SubscriptionPtr;
  using Snapshot = watch::WatchHub::Snapshot;

  static typename Response::Type TypeOf(watch::WatchEvent::Type type);
  static void ToResponse(const watch::WatchEvent& event, Response& response);
  // Returns the slot's changes after a revision, oldest first: the controller's part of a page.
  static Snapshot SnapshotOf(Controller& controller, uint32_t slot, const watch::RevisionLog& log, int64_t since,
                             const watch::WatchHub::Subscription& subscription);
  // Runs on the loop of the slot's worker.
  static void FillSlot(Controller& controller, watch::WatchHub& hub, const Subscription& subscription, uint32_t slot);
  void Fill();

  Workers<Controller>& workers_;
  const std::shared_ptr<watch::WatchHub> hub_;
  const Subscription subscription_;
};

// A part that was refused.
template <typename Response>
class RefusedPart final : public rpc::Feed<Response> {
 public:
  explicit RefusedPart(absl::Status status) : status_(std::move(status)) {}
  bool Take(Response*) override { return false; }
  std::optional<absl::Status> End() override { return status_; }

 private:
  const absl::Status status_;
};

// Makes the part that the request describes. The part ends at once if the hub has too many watches. Each call is
// another subscription.
template <typename Watched>
std::unique_ptr<rpc::Feed<typename Watched::PartResponse>> MakeWatchPart(Workers<typename Watched::Controller>& workers,
                                                                         std::shared_ptr<watch::WatchHub> hub,
                                                                         const typename Watched::PartRequest& request,
                                                                         std::function<void()> notify) {
  std::map<uint32_t, watch::WatchPosition> slots;
  for (const uint32_t slot : SlotSet::FromBytes(request.slots()).ToVector()) slots[slot] = {};
  for (const watch::v1::SlotPosition& position : request.since()) {
    if (const auto it = slots.find(position.slot()); it != slots.end()) it->second = watch::PositionOf(position);
  }
  auto subscription = hub->Subscribe(rpc::NamespaceOf(request), request.name(), slots, std::move(notify));
  if (!subscription.ok()) {
    return std::make_unique<RefusedPart<typename Watched::PartResponse>>(subscription.status());
  }
  return std::make_unique<WatchPart<Watched>>(workers, std::move(hub), *std::move(subscription));
}

template <typename Watched>
typename Watched::PartResponse::Type WatchPart<Watched>::TypeOf(watch::WatchEvent::Type type) {
  using Type = watch::WatchEvent::Type;
  switch (type) {
    case Type::kState:
      return Response::TYPE_STATE;
    case Type::kDeleted:
      return Response::TYPE_DELETED;
    case Type::kSynced:
      return Response::TYPE_SYNCED;
    case Type::kReset:
      return Response::TYPE_RESET;
    case Type::kProgress:
      return Response::TYPE_PROGRESS;
    case Type::kMoved:
      return Response::TYPE_MOVED;
  }
  return Response::TYPE_UNSPECIFIED;
}

template <typename Watched>
void WatchPart<Watched>::ToResponse(const watch::WatchEvent& event, Response& response) {
  response.set_type(TypeOf(event.type));
  if (event.published != nullptr) {
    Watched::CopyObject(*event.published->message, response);
    *response.mutable_position() = watch::ToMessage(event.published->slot, event.published->position);
  }
  for (const auto& [slot, position] : event.positions) *response.add_positions() = watch::ToMessage(slot, position);
  for (const uint32_t slot : event.slots) response.add_slots(slot);
}

template <typename Watched>
watch::WatchHub::Snapshot WatchPart<Watched>::SnapshotOf(Controller& controller, uint32_t slot,
                                                         const watch::RevisionLog& log, int64_t since,
                                                         const watch::WatchHub::Subscription& subscription) {
  Snapshot snapshot;
  watch::WatchPosition position = log.position();
  // A client that has an event counts as knowing all before it, so nothing is published past an object whose
  // publication is still pending.
  int64_t first_unseen = std::numeric_limits<int64_t>::max();
  controller.ForEachShown(slot, [&](const std::string& key, Shown& shown, bool is_seen) {
    if (!subscription.Wants(key)) return;
    if (!is_seen) {
      if (shown.revision <= since) return;
      snapshot.unpublished = shown.is_owed = true;
      first_unseen = std::min(first_unseen, shown.revision);
      return;
    }
    // An object that no pass has looked at yet has no revision: its first pass publishes it.
    if (shown.revision == 0) snapshot.unpublished = true;
    if (shown.revision <= since) return;
    position.revision = shown.revision;
    snapshot.items.push_back(
        {position, key, /*deleted=*/false, [&controller, key] { return Watched::Make(controller, key); }});
  });
  for (const watch::RevisionLog::Deletion& deletion : log.deletions()) {
    // A client that knows nothing needs no deletions.
    if (since == 0 || deletion.revision <= since || !subscription.Wants(deletion.key)) continue;
    position.revision = deletion.revision;
    snapshot.items.push_back({position, deletion.key, /*deleted=*/true,
                              [&deletion] { return MakeGone<Watched>(deletion.key, deletion.uid); }});
  }
  std::erase_if(snapshot.items, [&](const auto& item) { return item.position.revision > first_unseen; });
  std::stable_sort(snapshot.items.begin(), snapshot.items.end(),
                   [](const auto& a, const auto& b) { return a.position.revision < b.position.revision; });
  return snapshot;
}

template <typename Watched>
void WatchPart<Watched>::FillSlot(Controller& controller, watch::WatchHub& hub, const Subscription& subscription,
                                  uint32_t slot) {
  const std::optional<watch::WatchPosition> since = hub.Since(subscription, slot);
  if (!since) return;
  const watch::RevisionLog* log = controller.publisher().LogOf(slot);
  if (log == nullptr || !controller.context().IsReady(slot)) return hub.Refuse(subscription, slot);
  const bool reset = since->revision != 0 && !log->Knows(*since);
  hub.Fill(subscription, slot, log->position(), reset,
           SnapshotOf(controller, slot, *log, reset ? 0 : since->revision, *subscription));
}

template <typename Watched>
void WatchPart<Watched>::Fill() {
  const std::vector<std::vector<uint32_t>> slots = hub_->StartFill(subscription_, workers_.count());
  for (size_t worker = 0; worker < slots.size(); ++worker) {
    if (slots[worker].empty()) continue;
    workers_.OnWorker(worker, [hub = hub_, subscription = subscription_, mine = slots[worker]](Controller& controller) {
      for (const uint32_t slot : mine) FillSlot(controller, *hub, subscription, slot);
      hub->FillDone(subscription);
    });
  }
}

}  // namespace basalt::runtime
