#pragma once

#include <cstddef>

#include "common/shell/service_process.h"
#include "common/watch/watch_hub.h"
#include "services/pgsvc/core/grouping/rule.h"
#include "services/pgsvc/core/pod_grouping.h"

namespace basalt::pgsvc {

// Returns the parts that make a process the pod group service.
shell::ServiceParts MakeParts(obs::Metrics& metrics, obs::Health& health);
// `rules` are the options of the rules that group pods.
shell::ServiceParts MakePartsWith(obs::Metrics& metrics, const GroupingOptions& options, size_t max_watches,
                                  RuleOptions rules = {});

}  // namespace basalt::pgsvc
