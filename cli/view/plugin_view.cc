#include "cli/view/plugin_view.h"

#include <fmt/format.h>

#include "cli/view/table.h"

namespace basalt::cli {

std::string FormatPlugins(const std::vector<PluginDescription>& plugins, const Look& look) {
  std::vector<Row> rows;
  for (const PluginDescription& plugin : plugins) rows.push_back({plugin.name, plugin.summary});
  return FormatTable({"NAME", "WHAT IT DOES"}, rows, look);
}

std::string FormatPlugin(const PluginDescription& plugin, const Look& look) {
  std::string text = fmt::format("{}: {}\n\n", plugin.name, plugin.summary);
  if (plugin.arguments.empty()) return text + fmt::format("  plugins: {{{}: []}}\n\nno arguments\n", plugin.name);
  std::vector<Row> rows;
  for (const PluginDescription::Argument& argument : plugin.arguments) {
    rows.push_back(
        {"--" + argument.name + "=", argument.default_value.empty() ? "-" : argument.default_value, argument.text});
  }
  const PluginDescription::Argument& first = plugin.arguments.front();
  text += fmt::format("  plugins: {{{}: [\"--{}={}\"]}}\n\n", plugin.name, first.name, first.default_value);
  return text + FormatTable({"ARGUMENT", "DEFAULT", "WHAT IT SAYS"}, rows, look);
}

}  // namespace basalt::cli
