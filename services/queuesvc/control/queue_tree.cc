#include "services/queuesvc/control/queue_tree.h"

#include <bit>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "common/kube/names.h"
#include "services/queuesvc/core/check_queue_spec.h"

namespace basalt::queuesvc {
namespace {

// Returns the name of the parent; empty if there is none. Root has no parent, whatever its spec contains.
const std::string& ParentNameOf(const kube::v1::Queue& queue) {
  static const std::string kNobody;
  return queue.meta().name() == kube::kRootQueue ? kNobody : queue.parent();
}

}  // namespace

bool QueueTree::Set(const kube::v1::Queue& queue) {
  const std::string& name = queue.meta().name();
  const kube::v1::Queue* const known = queues_.Find(name);
  const std::string before = known == nullptr ? "" : ParentNameOf(*known);
  queues_.FindOrMake(name) = queue;
  children_.Move(name, before, ParentNameOf(queue));
  return before != ParentNameOf(queue);
}

void QueueTree::Erase(const std::string& name) {
  const kube::v1::Queue* const known = queues_.Find(name);
  if (known == nullptr) return;
  children_.Move(name, ParentNameOf(*known), "");
  queues_.Erase(name);
}

const kube::v1::Queue* QueueTree::ParentOf(const kube::v1::Queue& queue) const {
  const kube::v1::Queue* const parent = queues_.Find(ParentNameOf(queue));
  // A circle above may leave this queue out. `seen` moves at each power of two, and so ends up on such a circle.
  const kube::v1::Queue* seen = nullptr;
  uint64_t height = 0;
  for (const kube::v1::Queue* above = parent; above != nullptr; above = queues_.Find(ParentNameOf(*above))) {
    if (above->meta().name() == queue.meta().name()) return nullptr;
    if (above == seen) break;
    if (std::has_single_bit(++height)) seen = above;
  }
  return parent;
}

std::string QueueTree::CircleOf(const kube::v1::Queue& queue) const {
  if (queues_.Find(ParentNameOf(queue)) == nullptr || ParentOf(queue) != nullptr) return {};
  std::vector<std::string_view> names(1, queue.meta().name());
  const kube::v1::Queue* above = queues_.Find(ParentNameOf(queue));
  for (; above->meta().name() != queue.meta().name(); above = queues_.Find(ParentNameOf(*above))) {
    names.push_back(above->meta().name());
  }
  return CircleText(std::move(names));
}

void QueueTree::ForEachBelow(std::string_view name, const std::function<void(const std::string&)>& visit) const {
  std::set<std::string> visited;
  std::vector<std::string> next(1, std::string(name));
  while (!next.empty()) {
    const std::string at = std::move(next.back());
    next.pop_back();
    for (const std::string& child : children_.Of(at)) {
      if (!visited.insert(child).second) continue;
      visit(child);
      next.push_back(child);
    }
  }
}

}  // namespace basalt::queuesvc
