#pragma once

// Whether a scheduler places groups of a queue, as far as that follows from the queue and those above it. Pure.
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"

namespace basalt::pgsvc {

struct SeenQueue {
  enum class State { kUnknown, kAbsent, kThere };
  State state = State::kUnknown;
  std::string parent = {};  // Empty: none.
  bool has_children = false;
};

// Why no group of the queue is placed; empty: nothing that is known speaks against it.
std::string WhyQueuePlacesNothing(std::string_view queue, absl::FunctionRef<SeenQueue(std::string_view)> find);

// What is wrong with the queue of a group, to be reported once where it lasts. A value.
class QueueProblem {
 public:
  // A queue and the pods for it, which are made together, need not come together.
  static constexpr absl::Duration kGrace = absl::Seconds(30);

  // `why`: what is wrong now; empty: nothing. True: it is to be reported.
  bool Take(std::string why, absl::Time now);
  // When it is to be taken again; InfiniteFuture: not before something changes.
  absl::Time due() const;

 private:
  std::string why_;
  absl::Time since_ = absl::InfiniteFuture();
  bool is_reported_ = false;
};

}  // namespace basalt::pgsvc
