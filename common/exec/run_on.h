#pragma once

#include "absl/functional/function_ref.h"
#include "common/exec/loop.h"

namespace basalt {

// Runs `work` on the loop and returns when `work` has returned. Any thread may call but the loop's own, which would
// wait for itself.
void RunOn(Loop& loop, absl::FunctionRef<void()> work);

}  // namespace basalt
