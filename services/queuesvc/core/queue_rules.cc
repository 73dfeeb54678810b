#include "services/queuesvc/core/queue_rules.h"

#include <fmt/format.h>

#include <utility>

#include "common/kube/names.h"

namespace basalt::queuesvc {

namespace {

using Amounts = google::protobuf::RepeatedPtrField<kube::v1::KeyValue>;

bool HoldsPods(const kube::v1::Queue& queue) {
  // As somebody has written them: each may be anything.
  return queue.pending() > 0 || queue.inqueue() > 0 || queue.running() > 0 || queue.unknown() > 0 ||
         !AmountOf(queue.allocated(), "pods").IsZero();
}

// Of the nearest queue from `name` upwards that limits the resource; null: none does.
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

// Whether the amounts of the queue and of those beside it fit in the amounts of the parent; empty: they do.
std::string CheckSum(const kube::v1::Queue& queue, const kube::v1::Queue& parent, const FindQueue& find,
                     const QueueChildren& children, const Amounts& (kube::v1::Queue::*amounts)() const) {
  for (const kube::v1::KeyValue& own : (queue.*amounts)()) {
    const std::string& resource = own.key();
    kube::Quantity sum = AmountOf((queue.*amounts)(), resource);
    for (const std::string& name : children.Of(parent.meta().name())) {
      const kube::v1::Queue* const beside = name == queue.meta().name() ? nullptr : find(name);
      if (beside != nullptr) sum += AmountOf((beside->*amounts)(), resource);
    }
    const kube::Quantity most = AmountOf((parent.*amounts)(), resource);
    if (sum <= most) continue;
    return fmt::format("{}: the queues below {} would have {} together, and it has {}", resource, parent.meta().name(),
                       sum.Text(), most.Text());
  }
  return {};
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
  std::string problem = CheckSum(queue, *above, find, children, &kube::v1::Queue::guarantee);
  if (!problem.empty()) return {"spec.guarantee.resource", std::move(problem)};
  problem = CheckSum(queue, *above, find, children, &kube::v1::Queue::deserved);
  if (!problem.empty()) return {"spec.deserved", std::move(problem)};
  return {};
}

QueueProblem CheckAmongOthers(const kube::v1::Queue& queue, const FindQueue& find, const QueueChildren& children) {
  std::string problem = CheckParent(queue.parent(), find, children);
  if (!problem.empty()) return {"spec.parent", std::move(problem)};
  return CheckResources(queue, find, children);
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
