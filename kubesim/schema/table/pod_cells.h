#pragma once

// The cells of pods. Pure functions.
#include <string>

#include "absl/time/time.h"
#include "common/base/json.h"

namespace basalt::kubesim {

// Returns a text like "1/2": the number of ready containers, and of all containers.
json::value PodReady(const json::value& pod, absl::Time now);
json::value PodRestarts(const json::value& pod, absl::Time now);
// Returns the text of a pod's STATUS column: the phase, or the reason why the pod waits, fails or ends.
std::string PodStatusWord(const json::value& pod);

}  // namespace basalt::kubesim
