#pragma once

// Plugins of jobs, formatted for people. Pure.
#include <string>
#include <vector>

#include "cli/view/look.h"

namespace basalt::cli {

struct PluginDescription {
  struct Argument {
    std::string name;
    std::string default_value;
    std::string text;
  };
  std::string name;
  std::string summary;
  std::vector<Argument> arguments;
};

// Returns a line for each plugin.
std::string FormatPlugins(const std::vector<PluginDescription>& plugins, const Look& look);

// Returns one plugin with its arguments, and an example of them in a manifest.
std::string FormatPlugin(const PluginDescription& plugin, const Look& look);

}  // namespace basalt::cli
