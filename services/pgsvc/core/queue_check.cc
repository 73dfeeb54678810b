#include "services/pgsvc/core/queue_check.h"

#include <fmt/format.h>

#include <set>
#include <utility>

namespace basalt::pgsvc {

std::string WhyQueuePlacesNothing(std::string_view queue, absl::FunctionRef<SeenQueue(std::string_view)> find) {
  SeenQueue seen = find(queue);
  if (seen.state == SeenQueue::State::kAbsent) {
    return fmt::format("queue {} does not exist: no group of it is placed until it does", queue);
  }
  if (seen.has_children) {
    return fmt::format("queue {} has queues below it: only queues that have none place groups", queue);
  }
  std::set<std::string> above{std::string(queue)};
  while (seen.state == SeenQueue::State::kThere && !seen.parent.empty()) {
    const std::string parent = std::move(seen.parent);
    if (parent == queue) return fmt::format("queue {} is below itself: no group of it is placed", queue);
    if (!above.insert(parent).second) {
      return fmt::format("queue {} is below queue {}, which is below itself: no group of it is placed", queue, parent);
    }
    seen = find(parent);
    if (seen.state == SeenQueue::State::kAbsent) {
      return fmt::format("queue {} is below queue {}, which does not exist: no group of it is placed until that does",
                         queue, parent);
    }
  }
  return {};
}

bool QueueProblem::Take(std::string why, absl::Time now) {
  if (why != why_) {
    why_ = std::move(why);
    since_ = now;
    is_reported_ = false;
  }
  if (why_.empty() || is_reported_ || now < since_ + kGrace) return false;
  is_reported_ = true;
  return true;
}

absl::Time QueueProblem::due() const { return why_.empty() || is_reported_ ? absl::InfiniteFuture() : since_ + kGrace; }

}  // namespace basalt::pgsvc
