#pragma once

#include <string_view>

#include "common/obs/log.h"

namespace basalt::shell {

// Of a --log_level flag; what is no level is info.
inline obs::Level LevelOf(std::string_view name) {
  if (name == "debug") return obs::Level::kDebug;
  if (name == "warning") return obs::Level::kWarning;
  if (name == "error") return obs::Level::kError;
  return obs::Level::kInfo;
}

}  // namespace basalt::shell
