#pragma once

// The facts about Volcano's queues that groups depend on. Every replica gets all queues. Confined to the loop of its
// owner.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "basalt/kube/v1/kube.pb.h"
#include "services/pgsvc/core/queue_check.h"

namespace basalt::pgsvc {

class QueueIndex {
 public:
  struct Change {
    bool has_new_state = false;       // Whether the queue is new, or was opened or closed.
    std::set<std::string> concerned;  // The queues for which Find() returns something else than before.
  };
  Change Set(const kube::v1::Queue& queue);
  Change Erase(std::string_view name);

  // Returns kUnknown as long as no queue is known at all: the cluster may not serve their kind.
  SeenQueue Find(std::string_view name) const;

 private:
  struct Queue {
    std::string state;
    std::string parent;
  };
  // Adds `by`, which is 1 or -1, to the number of the parent's children.
  void Count(const std::string& parent, int by, Change& change);

  std::map<std::string, Queue, std::less<>> queues_;
  std::map<std::string, int64_t, std::less<>> children_;  // The number of children, by the name of the parent.
};

}  // namespace basalt::pgsvc
