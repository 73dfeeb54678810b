#pragma once

// All queues of the cluster, and which of them is below which. Confined to the worker's loop.
#include <functional>
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "common/reconcile/slot_map.h"
#include "services/queuesvc/core/queue_children.h"

namespace basalt::queuesvc {

class QueueTree {
 public:
  const SlotMap<kube::v1::Queue>& queues() const { return queues_; }
  const QueueChildren& children() const { return children_; }
  // Returns null if there is no such queue.
  const kube::v1::Queue* Find(std::string_view name) const { return queues_.Find(name); }
  // Returns null if the parent does not exist, if it is below the queue itself, or if the queue is root.
  const kube::v1::Queue* ParentOf(const kube::v1::Queue& queue) const;
  // Returns the text of CircleText; empty if the queue is in no circle.
  std::string CircleOf(const kube::v1::Queue& queue) const;
  // Calls `visit` once for the name of each queue below, whether that queue exists or not.
  void ForEachBelow(std::string_view name, const std::function<void(const std::string&)>& visit) const;

  // Sets the state of a queue. Returns whether the queue has come, or has another parent than before.
  bool Set(const kube::v1::Queue& queue);
  void Erase(const std::string& name);

 private:
  SlotMap<kube::v1::Queue> queues_;
  QueueChildren children_;
};

}  // namespace basalt::queuesvc
