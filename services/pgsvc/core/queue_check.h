#pragma once

// Decides whether a scheduler places groups of a queue, as far as the queue and those above it show. Pure.
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"

namespace basalt::pgsvc {

struct SeenQueue {
  enum class State { kUnknown, kAbsent, kThere };
  State state = State::kUnknown;
  std::string parent = {};  // Empty if it has none.
  bool has_children = false;
};

// Returns why no group of the queue is placed; empty if nothing known prevents it.
std::string WhyQueuePlacesNothing(std::string_view queue, absl::FunctionRef<SeenQueue(std::string_view)> find);

// A problem of a group's queue, which is reported once if it lasts. A value.
class QueueProblem {
 public:
  // A queue and the pods for it, which are made together, may arrive at different times.
  static constexpr absl::Duration kGrace = absl::Seconds(30);

  // Sets the present problem; `why` is empty if there is none. Returns true if the problem is to be reported now.
  bool Take(std::string why, absl::Time now);
  // When Take() is to be called again; InfiniteFuture if only after a change.
  absl::Time due() const;

 private:
  std::string why_;
  absl::Time since_ = absl::InfiniteFuture();
  bool is_reported_ = false;
};

}  // namespace basalt::pgsvc
