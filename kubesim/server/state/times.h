#pragma once

// Times as texts. Pure.
#include <string>

#include "absl/time/time.h"

namespace basalt::kubesim {

// Returns a time like "2026-01-02T03:04:05Z".
std::string Rfc3339(absl::Time time);

}  // namespace basalt::kubesim
