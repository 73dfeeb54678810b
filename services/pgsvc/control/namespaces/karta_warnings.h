#pragma once

// Warnings on Kartas that cannot be used, as Events (pod-grouper 6.11, weakness G26): one that is broken, or two for
// one kind, where a pod is grouped without them. Confined to the loop of its owner.
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
  // The context outlives it.
  explicit KartaWarnings(runtime::Context& context);
  KartaWarnings(const KartaWarnings&) = delete;
  KartaWarnings& operator=(const KartaWarnings&) = delete;

  // `key`: routing key of the pods that would be grouped by the Kartas. Warnings of several replicas are counted in one
  // Event.
  void Record(const std::string& key, const std::vector<KartaName>& kartas, std::string_view problem);
  // The Karta is gone.
  void Forget(std::string_view name);

 private:
  struct Warned {
    std::string name;
    runtime::ObjectEvents events;
  };

  std::map<std::string, Warned> warned_;  // By the UID of the Karta.
  runtime::EventRecorder recorder_;
};

}  // namespace basalt::pgsvc
