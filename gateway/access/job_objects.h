#pragma once

// Decides which requests for a job concern objects of its own. For gateway/access only. Pure.
#include "gateway/access/asked.h"

namespace basalt::gateway {

// Applies the rules kJobs… and kNamedAfterJob. Requires: the request's namespace is that of the key.
Permission CheckOfJob(const Ask& ask, const AccessRow& row, const Known& known);

}  // namespace basalt::gateway
