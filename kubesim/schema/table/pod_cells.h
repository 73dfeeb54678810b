#pragma once

// The cells of pods. Pure functions.
#include <string>

#include "absl/time/time.h"
#include "common/base/json.h"

namespace basalt::kubesim {

// "1/2": the ready containers of all.
json::value PodReady(const json::value& pod, absl::Time now);
json::value PodRestarts(const json::value& pod, absl::Time now);
// The word in a pod's STATUS column: its phase, or why it waits, fails or ends.
std::string PodStatusWord(const json::value& pod);

}  // namespace basalt::kubesim
