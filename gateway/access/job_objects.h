#pragma once

// What may be done for a job, to objects that are its own. For this folder alone. Pure.
#include "gateway/access/asked.h"

namespace basalt::gateway {

// By the rules kJobs… and kNamedAfterJob. Requires: the object is asked for in the namespace of the key.
Permission CheckOfJob(const Ask& ask, const AccessRow& row, const Known& known);

}  // namespace basalt::gateway
