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
  WatchPosition position;  // Where the slot is once this is taken in.
  std::string key;
  bool deleted = false;
  std::shared_ptr<const google::protobuf::Message> message;  // The service's own; of a deletion, what names the object.
};

// The next event of a subscription.
struct WatchEvent {
  enum class Type {
    kState,
    kDeleted,
    kSynced,    // Of every slot that was asked for and did not move, everything that existed has been sent.
    kReset,     // What was sent of these slots before is not known here: a snapshot follows.
    kProgress,  // Newer positions, nothing else.
    kMoved,     // This replica does not have these slots, or not yet; nothing more comes of them.
  };
  Type type;
  std::shared_ptr<const Published> published;                 // Of kState and kDeleted.
  std::vector<std::pair<uint32_t, WatchPosition>> positions;  // Of kSynced and kProgress, by slot.
  std::vector<uint32_t> slots;                                // Of kReset and kMoved.
};

}  // namespace basalt::watch
