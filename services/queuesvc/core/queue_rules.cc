#include "services/queuesvc/core/queue_rules.h"

#include <fmt/format.h>

#include "common/kube/names.h"

namespace basalt::queuesvc {

std::string CheckParent(std::string_view parent, const FindQueue& find) {
  int level = 1;
  for (std::string_view above = parent; !above.empty() && above != kube::kRootQueue;) {
    const kube::v1::Queue* const queue = find(above);
    if (queue == nullptr) return fmt::format("queue {} does not exist; make it first", above);
    if (++level > kMostLevels) {
      return fmt::format("the queue would be more than {} levels below root; name one that is higher", kMostLevels);
    }
    above = queue->parent();
  }
  return {};
}

std::string CheckDeletion(std::string_view name, const QueueChildren& children) {
  if (name == kube::kRootQueue || name == kube::kDefaultQueue) {
    return fmt::format("queue {} cannot be deleted: every cluster has it", name);
  }
  const std::set<std::string>& below = children.Of(name);
  const bool is_alone = below.empty() || (below.size() == 1 && below.contains(std::string(name)));
  if (is_alone) return {};
  return fmt::format("queue {} is the parent of {} queues, as {}: delete them first, or move them", name, below.size(),
                     *below.begin());
}

}  // namespace basalt::queuesvc
