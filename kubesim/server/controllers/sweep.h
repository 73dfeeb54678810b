#pragma once

// How far the objects of one resource have been asked to go. What comes later is met by starting anew.
#include <optional>

#include "kubesim/server/write/deletion.h"

namespace basalt::kubesim {

// Objects that one task of a controller looks at.
inline constexpr int kSweptPerTask = 200;

struct Sweep {
  std::optional<ObjectKey> after;
  bool finished = false;

  // True when all have been asked.
  bool Advance(Deleter& deleter, const TypeInfo& type, std::string_view ns, int& budget) {
    if (!finished) finished = deleter.DeleteNext(type, ns, after, budget);
    return finished;
  }
};

}  // namespace basalt::kubesim
