#pragma once

// Lets --help show the flags of a program: Abseil's default looks for them in a file named like the program.
#include "absl/flags/usage_config.h"
#include "absl/strings/string_view.h"

namespace basalt::shell {

// Before the flags are parsed.
inline void ShowOwnFlagsInHelp() {
  absl::FlagsUsageConfig config;
  config.contains_help_flags = [](absl::string_view file) { return file.find("absl/") == absl::string_view::npos; };
  absl::SetFlagsUsageConfig(config);
}

}  // namespace basalt::shell
