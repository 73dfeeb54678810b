#pragma once

// What is remembered of an object, and how one ends.
#include <cstdint>
#include <string>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::runtime {

// An object that a store remembers: enough to notice that it is not there any more.
struct KnownObject {
  std::string watch;  // The watch that showed it.
  std::string routing_key;
  std::string uid;
  std::string ns;
  std::string name;
  int64_t resource_version = 0;
};

struct Gone {
  enum class Reason {
    kDeleted,  // A watch saw the deletion.
    kLeft,     // It no longer matches the watch or its route changed. Raises no event.
    kAbsent,   // It was known, the snapshot does not have it, and the marks prove that it is gone.
  };
  Reason reason;
  std::string watch;
  std::string uid;
  std::string ns;
  std::string name;
  int64_t resource_version = 0;            // Of the deletion; of the last state where that is unknown.
  const kube::v1::Object* last = nullptr;  // Last state seen, if the gateway still had it. Valid during the call.
};

}  // namespace basalt::runtime
