#pragma once

// Plugins of jobs, for people. Pure.
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

// A line each.
std::string FormatPlugins(const std::vector<PluginDescription>& plugins, const Look& look);

// One with its arguments, and how they stand in a manifest.
std::string FormatPlugin(const PluginDescription& plugin, const Look& look);

}  // namespace basalt::cli
