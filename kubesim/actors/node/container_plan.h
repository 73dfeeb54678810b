#pragma once

// The behaviour of a container on a simulated node, derived from the container's command: how long the container runs,
// and its exit code.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace basalt::actors {

struct ContainerPlan {
  absl::Duration duration;  // Infinite if the container runs until it is stopped.
  int exit_code = 0;
};

// Returns the plan of a command of sleep, exit, true, false, echo and the like, alone or in a script of `sh -c` joined
// by ; && || and newlines. Nullopt for every other command, with pipes, redirections, substitutions or unknown
// programs: nothing is guessed.
std::optional<ContainerPlan> PlanOfCommand(const std::vector<std::string>& argv);

}  // namespace basalt::actors
