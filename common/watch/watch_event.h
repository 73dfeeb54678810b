#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/watch/watch_position.h"

namespace basalt::watch {

// A state of one object, or its deletion, as watching clients get it. Immutable, and shared by all of them.
struct Published {
  uint32_t slot = 0;
  WatchPosition position;  // The position of the slot after this change.
  std::string key;
  bool deleted = false;
  // The message of the service. For a deletion, the message only names the object.
  std::shared_ptr<const google::protobuf::Message> message;
};

// The next event of a subscription.
struct WatchEvent {
  enum class Type {
    kState,
    kDeleted,
    kSynced,    // All objects of the requested slots that did not move have been sent.
    kReset,     // This replica does not know the positions in these slots: a snapshot follows.
    kProgress,  // The event has only newer positions.
    kMoved,     // This replica does not have these slots, or not yet. No more events of them follow.
  };
  Type type;
  std::shared_ptr<const Published> published;                 // Is set for kState and kDeleted.
  std::vector<std::pair<uint32_t, WatchPosition>> positions;  // Is set for kSynced and kProgress, by slot.
  std::vector<uint32_t> slots;                                // Is set for kReset and kMoved.
};

}  // namespace basalt::watch
