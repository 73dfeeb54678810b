#pragma once

#include <string_view>

#include "common/obs/log.h"

namespace basalt::shell {

// Returns the level that --log_level names. A value that is no level means info.
inline obs::Level LevelOf(std::string_view name) {
  if (name == "debug") return obs::Level::kDebug;
  if (name == "warning") return obs::Level::kWarning;
  if (name == "error") return obs::Level::kError;
  return obs::Level::kInfo;
}

}  // namespace basalt::shell
