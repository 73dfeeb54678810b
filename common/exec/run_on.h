#pragma once

#include "absl/functional/function_ref.h"
#include "common/exec/loop.h"

namespace basalt {

// Runs `work` on the loop and returns when it is done. Any thread but the loop's own, which would wait for itself.
void RunOn(Loop& loop, absl::FunctionRef<void()> work);

}  // namespace basalt
