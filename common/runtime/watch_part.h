#pragma once

// What a replica tells of changes to the objects of its slots: its part of a client's watch, from the hub that its
// controllers publish to. Confined to the loop of the handlers, but for what fills it on the workers' loops.
//
// `Messages`: PartRequest and PartResponse as in common/rpc/watch/merged_watch.h, and
// CopyObject(const google::protobuf::Message& published, PartResponse&).
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/base/slot_set.h"
#include "common/rpc/feed.h"
#include "common/runtime/typed_replica.h"
#include "common/watch/watch_hub.h"
#include "common/watch/watch_token.h"

namespace basalt::runtime {

// Fills a slot for the subscription, or refuses it. On the loop of the slot's worker.
template <typename Typed>
using FillSlot = std::function<void(Typed& controller, watch::WatchHub& hub,
                                    const watch::WatchHub::SubscriptionPtr& subscription, uint32_t slot)>;

template <typename PartResponse>
typename PartResponse::Type TypeOfPart(watch::WatchEvent::Type type) {
  using Type = watch::WatchEvent::Type;
  switch (type) {
    case Type::kState:
      return PartResponse::TYPE_STATE;
    case Type::kDeleted:
      return PartResponse::TYPE_DELETED;
    case Type::kSynced:
      return PartResponse::TYPE_SYNCED;
    case Type::kReset:
      return PartResponse::TYPE_RESET;
    case Type::kProgress:
      return PartResponse::TYPE_PROGRESS;
    case Type::kMoved:
      return PartResponse::TYPE_MOVED;
  }
  return PartResponse::TYPE_UNSPECIFIED;
}

template <typename Messages, typename Typed>
class WatchPart final : public rpc::Feed<typename Messages::PartResponse> {
 public:
  using Response = typename Messages::PartResponse;

  // The workers outlive it.
  WatchPart(Workers<Typed>& workers, std::shared_ptr<watch::WatchHub> hub,
            watch::WatchHub::SubscriptionPtr subscription, FillSlot<Typed> fill)
      : workers_(workers), hub_(std::move(hub)), subscription_(std::move(subscription)), fill_(std::move(fill)) {
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
  static void ToResponse(const watch::WatchEvent& event, Response& response) {
    response.set_type(TypeOfPart<Response>(event.type));
    if (event.published != nullptr) {
      Messages::CopyObject(*event.published->message, response);
      *response.mutable_position() = watch::ToMessage(event.published->slot, event.published->position);
    }
    for (const auto& [slot, position] : event.positions) *response.add_positions() = watch::ToMessage(slot, position);
    for (const uint32_t slot : event.slots) response.add_slots(slot);
  }
  void Fill() {
    const std::vector<std::vector<uint32_t>> slots = hub_->StartFill(subscription_, workers_.count());
    for (size_t worker = 0; worker < slots.size(); ++worker) {
      if (slots[worker].empty()) continue;
      workers_.OnWorker(
          worker, [hub = hub_, subscription = subscription_, fill = fill_, mine = slots[worker]](Typed& controller) {
            for (const uint32_t slot : mine) fill(controller, *hub, subscription, slot);
            hub->FillDone(subscription);
          });
    }
  }

  Workers<Typed>& workers_;
  const std::shared_ptr<watch::WatchHub> hub_;
  const watch::WatchHub::SubscriptionPtr subscription_;
  const FillSlot<Typed> fill_;
};

// A part that was not let in.
template <typename Response>
class RefusedPart final : public rpc::Feed<Response> {
 public:
  explicit RefusedPart(absl::Status status) : status_(std::move(status)) {}
  bool Take(Response*) override { return false; }
  std::optional<absl::Status> End() override { return status_; }

 private:
  const absl::Status status_;
};

// The part that the request asks for; one that ends at once where the hub has no room.
template <typename Messages, typename Typed>
std::unique_ptr<rpc::Feed<typename Messages::PartResponse>> MakeWatchPart(Workers<Typed>& workers,
                                                                          std::shared_ptr<watch::WatchHub> hub,
                                                                          const typename Messages::PartRequest& request,
                                                                          FillSlot<Typed> fill,
                                                                          std::function<void()> notify) {
  std::map<uint32_t, watch::WatchPosition> slots;
  for (const uint32_t slot : SlotSet::FromBytes(request.slots()).ToVector()) slots[slot] = {};
  for (const watch::v1::SlotPosition& position : request.since()) {
    if (const auto it = slots.find(position.slot()); it != slots.end()) it->second = watch::PositionOf(position);
  }
  auto subscription = hub->Subscribe(request.namespace_(), request.name(), slots, std::move(notify));
  if (!subscription.ok()) {
    return std::make_unique<RefusedPart<typename Messages::PartResponse>>(subscription.status());
  }
  return std::make_unique<WatchPart<Messages, Typed>>(workers, std::move(hub), *std::move(subscription),
                                                      std::move(fill));
}

}  // namespace basalt::runtime
