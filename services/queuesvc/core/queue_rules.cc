#include "services/queuesvc/core/queue_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "common/kube/names.h"

namespace basalt::queuesvc {

namespace {

using Amounts = google::protobuf::RepeatedPtrField<kube::v1::KeyValue>;

bool HoldsPods(const kube::v1::Queue& queue) {
  // Anybody can write these counts: each may have any value.
  return queue.pending() > 0 || queue.inqueue() > 0 || queue.running() > 0 || queue.unknown() > 0 ||
         !AmountOf(queue.allocated(), "pods").IsZero();
}

// Returns the nearest queue from `name` upwards that limits the resource; null if none does.
const kube::v1::Queue* LimitAbove(std::string_view name, std::string_view resource, const FindQueue& find) {
  int level = 0;
  while (!name.empty() && name != kube::kRootQueue && level++ < kMostLevels) {
    const kube::v1::Queue* const queue = find(name);
    if (queue == nullptr) return nullptr;
    if (AmountOf(queue->capability(), resource) > kube::Quantity()) return queue;
    name = queue->parent();
  }
  return nullptr;
}

// Returns, of the queues below `name` that limit the resource, the one with the largest limit; null if none limits it.
// A queue that limits the resource hides the queues below it.
const kube::v1::Queue* LargestBelow(std::string_view name, std::string_view resource, const FindQueue& find,
                                    const QueueChildren& children, int level = 1) {
  const kube::v1::Queue* largest = nullptr;
  if (level > kMostLevels) return largest;
  for (const std::string& child : children.Of(name)) {
    const kube::v1::Queue* found = find(child);
    if (found == nullptr) continue;
    const bool is_limited = AmountOf(found->capability(), resource) > kube::Quantity();
    if (!is_limited) found = LargestBelow(child, resource, find, children, level + 1);
    if (found == nullptr) continue;
    const bool is_larger =
        largest == nullptr || AmountOf(found->capability(), resource) > AmountOf(largest->capability(), resource);
    if (is_larger) largest = found;
  }
  return largest;
}

using AmountsOf = const Amounts& (kube::v1::Queue::*)() const;

// Returns why the amounts of the queues below `above` do not fit in its own; empty if they fit. If `one` is not null,
// it takes the place of the queue of its name, and only the resources that it names are checked.
std::string CheckSum(const kube::v1::Queue& above, const kube::v1::Queue* one, const FindQueue& find,
                     const QueueChildren& children, AmountsOf amounts) {
  std::map<std::string, kube::Quantity> sums;
  const auto add = [&](const kube::v1::Queue& below) {
    for (const kube::v1::KeyValue& pair : (below.*amounts)()) {
      sums[pair.key()] += kube::Quantity::Parse(pair.value()).value_or(kube::Quantity());
    }
  };
  if (one != nullptr) add(*one);
  for (const std::string& name : children.Of(above.meta().name())) {
    const bool is_given = one != nullptr && name == one->meta().name();
    const kube::v1::Queue* const below = is_given ? nullptr : find(name);
    if (below != nullptr) add(*below);
  }
  for (const auto& [resource, sum] : sums) {
    const auto is_it = [&resource = resource](const auto& pair) { return pair.key() == resource; };
    if (one != nullptr && std::none_of((one->*amounts)().begin(), (one->*amounts)().end(), is_it)) continue;
    const kube::Quantity most = AmountOf((above.*amounts)(), resource);
    if (sum <= most) continue;
    return fmt::format("{}: the queues below {} would have {} together, and it has {}", resource, above.meta().name(),
                       sum.Text(), most.Text());
  }
  return {};
}

// Checks the sums of guarantee and of deserved.
QueueProblem CheckSums(const kube::v1::Queue& above, const kube::v1::Queue* one, const FindQueue& find,
                       const QueueChildren& children) {
  std::string problem = CheckSum(above, one, find, children, &kube::v1::Queue::guarantee);
  if (!problem.empty()) return {"spec.guarantee.resource", std::move(problem)};
  problem = CheckSum(above, one, find, children, &kube::v1::Queue::deserved);
  if (!problem.empty()) return {"spec.deserved", std::move(problem)};
  return {};
}

// Checks the queue against those above it.
QueueProblem CheckUpwards(const kube::v1::Queue& queue, const FindQueue& find, const QueueChildren& children) {
  const std::string& parent = queue.parent();
  const kube::v1::Queue* const above = parent.empty() || parent == kube::kRootQueue ? nullptr : find(parent);
  if (above == nullptr) return {};
  for (const kube::v1::KeyValue& own : queue.capability()) {
    const std::string& resource = own.key();
    const kube::v1::Queue* const limit = LimitAbove(parent, resource, find);
    const kube::Quantity amount = AmountOf(queue.capability(), resource);
    if (limit == nullptr || amount <= AmountOf(limit->capability(), resource)) continue;
    return {"spec.capability", fmt::format("{}: {} is more than queue {} above may take, {}", resource, amount.Text(),
                                           limit->meta().name(), AmountOf(limit->capability(), resource).Text())};
  }
  return CheckSums(*above, &queue, find, children);
}

// Checks the queue against those below it, which may be older than the queue.
QueueProblem CheckDownwards(const kube::v1::Queue& queue, const FindQueue& find, const QueueChildren& children) {
  const std::string& name = queue.meta().name();
  if (children.Of(name).empty()) return {};
  for (const kube::v1::KeyValue& own : queue.capability()) {
    const std::string& resource = own.key();
    const kube::Quantity amount = AmountOf(queue.capability(), resource);
    const kube::v1::Queue* const largest = LargestBelow(name, resource, find, children);
    if (amount.IsZero() || largest == nullptr || amount >= AmountOf(largest->capability(), resource)) continue;
    return {"spec.capability", fmt::format("{}: {} is less than queue {} below may take, {}", resource, amount.Text(),
                                           largest->meta().name(), AmountOf(largest->capability(), resource).Text())};
  }
  return CheckSums(queue, nullptr, find, children);
}

// Returns the path without "root/", which may stand in front of it; empty if the queue has none.
std::string_view HierarchyOf(const kube::v1::Queue& queue) {
  for (const kube::v1::KeyValue& annotation : queue.meta().annotations()) {
    if (annotation.key() != kHierarchyKey) continue;
    std::string_view path = annotation.value();
    if (path.starts_with("root/")) path.remove_prefix(5);
    return path;
  }
  return {};
}

// Checks that only the lowest queues have a path.
QueueProblem CheckHierarchy(const kube::v1::Queue& queue, const EachQueue& each) {
  const std::string_view path = HierarchyOf(queue);
  if (path.empty()) return {};
  std::string problem;
  each([&](const kube::v1::Queue& other) {
    const std::string_view below = HierarchyOf(other);
    const bool is_below = below.size() > path.size() && below.starts_with(path) && below[path.size()] == '/';
    if (!problem.empty() || !is_below || other.meta().name() == queue.meta().name()) return;
    problem = fmt::format("{} \"{}\" is above that of queue {}, \"{}\": only the lowest queues have one", kHierarchyKey,
                          path, other.meta().name(), below);
  });
  return problem.empty() ? QueueProblem() : QueueProblem{"metadata.annotations", std::move(problem)};
}

}  // namespace

kube::Quantity AmountOf(const Amounts& amounts, std::string_view resource) {
  for (const kube::v1::KeyValue& pair : amounts) {
    if (pair.key() == resource) return kube::Quantity::Parse(pair.value()).value_or(kube::Quantity());
  }
  return {};
}

std::string CheckParent(std::string_view parent, const FindQueue& find, const QueueChildren& children) {
  const kube::v1::Queue* const next = parent == kube::kRootQueue ? nullptr : find(parent);
  if (next != nullptr && children.Of(parent).empty() && HoldsPods(*next)) {
    return fmt::format("queue {} holds pod groups of its own: a queue has jobs, or queues below it", parent);
  }
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

QueueProblem CheckResources(const kube::v1::Queue& queue, const FindQueue& find, const QueueChildren& children) {
  if (queue.meta().name() == kube::kRootQueue) return {};
  QueueProblem problem = CheckUpwards(queue, find, children);
  return problem.field.empty() ? CheckDownwards(queue, find, children) : problem;
}

QueueProblem CheckAmongOthers(const kube::v1::Queue& queue, const FindQueue& find, const QueueChildren& children,
                              const EachQueue& each) {
  std::string parent = CheckParent(queue.parent(), find, children);
  if (!parent.empty()) return {"spec.parent", std::move(parent)};
  QueueProblem problem = CheckResources(queue, find, children);
  return problem.field.empty() ? CheckHierarchy(queue, each) : problem;
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
