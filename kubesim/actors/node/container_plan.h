#pragma once

// What a container does, as far as a simulated node can tell from its command: it runs for so long and exits with that.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace basalt::actors {

struct ContainerPlan {
  absl::Duration duration;  // Infinite: until it is stopped.
  int exit_code = 0;
};

// Understands sleep, exit, true, false, echo and their like, alone or in a script of `sh -c` joined by ; && || and
// newlines. Nullopt for everything else: pipes, redirections, substitutions, unknown programs. Nothing is guessed.
std::optional<ContainerPlan> PlanOfCommand(const std::vector<std::string>& argv);

}  // namespace basalt::actors
