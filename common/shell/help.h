#pragma once

// Sets the texts that --help and --version of a program print.
#include <fmt/format.h>

#include <string>

#include "absl/flags/usage_config.h"
#include "absl/strings/string_view.h"
#include "common/base/version.h"

namespace basalt::shell {

// Lets --help list the flags of the program (Abseil's default looks for them in a file named like the program), and
// lets --version print "NAME RELEASE". Requires: the flags are not parsed yet.
inline void SetUpHelp(const std::string& name) {
  absl::FlagsUsageConfig config;
  config.contains_help_flags = [](absl::string_view file) { return file.find("absl/") == absl::string_view::npos; };
  config.version_string = [name] { return fmt::format("{} {}\n", name, VersionText()); };
  absl::SetFlagsUsageConfig(config);
}

}  // namespace basalt::shell
