#pragma once

// Volcano's queues, of which all replicas hear, as far as groups depend on them. Confined to the loop of its owner.
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
    bool has_new_state = false;       // The queue is new, or was opened or closed.
    std::set<std::string> concerned;  // Queues of which Find says something else than before.
  };
  Change Set(const kube::v1::Queue& queue);
  Change Erase(std::string_view name);

  // Unknown as long as no queue is known at all: their kind may not be served.
  SeenQueue Find(std::string_view name) const;

 private:
  struct Queue {
    std::string state;
    std::string parent;
  };
  // The parent has one child more or less.
  void Count(const std::string& parent, int by, Change& change);

  std::map<std::string, Queue, std::less<>> queues_;
  std::map<std::string, int64_t, std::less<>> children_;  // How many, by the name of the parent.
};

}  // namespace basalt::pgsvc
