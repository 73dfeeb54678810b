#pragma once

// The progress of a sweep that deletes the objects of one resource. Objects that are created behind the sweep's
// position need a new sweep.
#include <optional>

#include "kubesim/server/write/deletion.h"

namespace basalt::kubesim {

// The number of objects that one task of a controller visits.
inline constexpr int kSweptPerTask = 200;

struct Sweep {
  std::optional<ObjectKey> after;
  bool finished = false;

  // Visits further objects and deletes them. Returns true once all have been visited.
  bool Advance(Deleter& deleter, const TypeInfo& type, std::string_view ns, int& budget) {
    if (!finished) finished = deleter.DeleteNext(type, ns, after, budget);
    return finished;
  }
};

}  // namespace basalt::kubesim
