#pragma once

#include "common/shell/service_process.h"

namespace basalt::pgsvc {

// What makes a process the pod group service.
shell::ServiceParts MakeParts(obs::Metrics& metrics, obs::Health& health);

}  // namespace basalt::pgsvc
