#pragma once

// An object that the store remembers, and the end of an object.
#include <cstdint>
#include <string>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::runtime {

// The stored facts about an object: enough to notice that the object is gone.
struct KnownObject {
  std::string watch;  // The watch that has the object.
  std::string routing_key;
  std::string uid;
  std::string ns;
  std::string name;
  int64_t resource_version = 0;
};

struct Gone {
  enum class Reason {
    kDeleted,  // A watch reported the deletion.
    kLeft,     // The object no longer matches the watch, or its route changed. Raises no event.
    kAbsent,   // The object was known, the snapshot does not have it, and the marks prove that it is gone.
  };
  Reason reason;
  std::string watch;
  std::string uid;
  std::string ns;
  std::string name;
  int64_t resource_version = 0;            // Version of the deletion; if that is unknown, of the last state.
  const kube::v1::Object* last = nullptr;  // The last state, if the gateway still had it. Valid during the call.
};

}  // namespace basalt::runtime
