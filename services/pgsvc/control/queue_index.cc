#include "services/pgsvc/control/queue_index.h"

namespace basalt::pgsvc {

void QueueIndex::Count(const std::string& parent, int by, Change& change) {
  if (parent.empty()) return;
  int64_t& children = children_[parent];
  const bool had_some = children > 0;
  children += by;
  if (had_some != (children > 0)) change.concerned.insert(parent);
  if (children == 0) children_.erase(parent);
}

QueueIndex::Change QueueIndex::Set(const kube::v1::Queue& queue) {
  Change change;
  const std::string& name = queue.meta().name();
  const auto [known, is_new] = queues_.try_emplace(name);
  Queue& entry = known->second;
  change.has_new_state = is_new || entry.state != queue.state();
  entry.state = queue.state();
  if (!is_new && entry.parent == queue.parent()) return change;
  change.concerned.insert(name);
  Count(queue.parent(), 1, change);
  Count(entry.parent, -1, change);
  entry.parent = queue.parent();
  return change;
}

QueueIndex::Change QueueIndex::Erase(std::string_view name) {
  Change change;
  const auto known = queues_.find(name);
  if (known == queues_.end()) return change;
  change.concerned.insert(known->first);
  Count(known->second.parent, -1, change);
  queues_.erase(known);
  return change;
}

SeenQueue QueueIndex::Find(std::string_view name) const {
  if (queues_.empty()) return {};
  const auto known = queues_.find(name);
  if (known == queues_.end()) return {.state = SeenQueue::State::kAbsent};
  return {.state = SeenQueue::State::kThere,
          .parent = known->second.parent,
          .has_children = children_.find(name) != children_.end()};
}

}  // namespace basalt::pgsvc
