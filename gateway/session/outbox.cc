#include "gateway/session/outbox.h"

#include "common/base/slots.h"
#include "common/kube/object_key.h"
#include "gateway/route/routes.h"

namespace basalt::gateway {

void Outbox::MoveTo(Batch& batch) {
  if (token_.has_value()) {
    v1::Item item;
    item.mutable_session_start()->set_token(*std::exchange(token_, std::nullopt));
    batch.Add(std::move(item));
  }
  if (assignment_.has_value()) {
    v1::Item item;
    *item.mutable_assignment() = *std::exchange(assignment_, std::nullopt);
    batch.Add(std::move(item));
  }
  while (!grants_.empty() && batch.HasRoom(grants_.begin()->second.ByteSizeLong())) {
    v1::Item item;
    *item.mutable_grant() = std::move(grants_.begin()->second);
    grants_.erase(grants_.begin());
    batch.Add(std::move(item));
  }
  while (!leftovers_.empty() && batch.HasRoom(leftovers_.front().ByteSizeLong())) {
    v1::Item item;
    *item.mutable_orphaned_records() = std::move(leftovers_.front());
    leftovers_.pop_front();
    batch.Add(std::move(item));
  }
  MoveInterestsTo(batch);
}

void Outbox::MoveInterestsTo(Batch& batch) {
  while (!interests_.empty()) {
    const auto& [key, object] = *interests_.begin();
    if (!batch.HasRoom(object ? object->ByteSizeLong() : 0)) return;
    v1::Item item;
    if (object) {
      v1::ObjectState& state = *item.mutable_state();
      state.set_slot(kBroadcastSlot);
      state.set_watch(key.watch);
      state.set_routing_key(kube::ObjectKey(key.ns, key.name));
      *state.mutable_object() = *object;
    } else {
      v1::Tombstone& tombstone = *item.mutable_tombstone();
      tombstone.set_slot(kBroadcastSlot);
      tombstone.set_watch(key.watch);
      tombstone.set_routing_key(kube::ObjectKey(key.ns, key.name));
      tombstone.set_reason(v1::Tombstone::REASON_DELETED);
      tombstone.mutable_last()->mutable_generic()->mutable_meta()->set_namespace_(key.ns);
      tombstone.mutable_last()->mutable_generic()->mutable_meta()->set_name(key.name);
    }
    batch.Add(std::move(item));
    interests_.erase(interests_.begin());
  }
}

}  // namespace basalt::gateway
