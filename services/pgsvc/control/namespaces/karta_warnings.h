#pragma once

// Records warning Events on Kartas that cannot be used, when a pod is grouped without them: a broken Karta, or two for
// one kind (pod-grouper 6.11, weakness G26). Confined to the loop of its owner.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/runtime/controller.h"
#include "common/runtime/events/event_recorder.h"
#include "common/runtime/events/object_events.h"
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

class KartaWarnings {
 public:
  // `context` outlives this object.
  explicit KartaWarnings(runtime::Context& context);
  KartaWarnings(const KartaWarnings&) = delete;
  KartaWarnings& operator=(const KartaWarnings&) = delete;

  // `key` is the routing key of the pods that the Kartas would group. Warnings of several replicas are counted in one
  // Event.
  void Record(const std::string& key, const std::vector<KartaName>& kartas, std::string_view problem);
  // The Karta is gone.
  void Forget(std::string_view name);

 private:
  struct Warned {
    std::string name;
    runtime::ObjectEvents events;
  };

  std::map<std::string, Warned> warned_;  // By UID of the Karta.
  runtime::EventRecorder recorder_;
};

}  // namespace basalt::pgsvc
