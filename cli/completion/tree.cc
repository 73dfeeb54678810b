#include "cli/completion/tree.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace basalt::cli {
namespace {

constexpr std::string_view kFile = "FILE";

// "TEXT:{a,b}" → a, b.
std::vector<std::string> ValuesIn(std::string_view type) {
  const size_t open = type.find('{');
  const size_t close = type.find('}', open == type.npos ? 0 : open);
  std::vector<std::string> values;
  if (open == type.npos || close == type.npos) return values;
  for (std::string_view rest = type.substr(open + 1, close - open - 1); !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    values.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return values;
}

// The first sentence of a help text is enough beside a word.
std::string Short(std::string_view help) { return std::string(help.substr(0, help.find_first_of(";\n"))); }

void Read(const CLI::App& app, const std::string& path, CompletionTree& tree) {
  CompletionCommand command{.path = path, .name = app.get_name(), .help = Short(app.get_description())};
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string> values = ValuesIn(option->get_type_name());
    if (option->get_positional()) {
      command.arguments = values;
      continue;
    }
    CompletionOption read{.help = Short(option->get_description())};
    for (const std::string& name : option->get_lnames()) read.names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) read.names.push_back("-" + name);
    read.takes_value = option->get_items_expected_max() > 0;
    read.is_file = read.takes_value && option->get_type_name().find(kFile) != std::string::npos;
    read.is_list = option->get_delimiter() != '\0';
    if (read.takes_value) read.values = values;
    command.options.push_back(std::move(read));
  }
  const std::vector<const CLI::App*> below = app.get_subcommands([](const CLI::App*) { return true; });
  command.has_commands = !below.empty();
  tree.commands.push_back(std::move(command));
  for (const CLI::App* each : below) Read(*each, path.empty() ? each->get_name() : path + " " + each->get_name(), tree);
}

bool IsAtOrAbove(std::string_view above, std::string_view path) {
  return above.empty() || above == path || (path.starts_with(above) && path[above.size()] == ' ');
}

}  // namespace

CompletionTree ReadTree(const CLI::App& app) {
  CompletionTree tree{.program = app.get_name()};
  Read(app, "", tree);
  return tree;
}

std::vector<const CompletionOption*> OptionsAt(const CompletionTree& tree, std::string_view path) {
  std::vector<const CompletionOption*> options;
  for (const CompletionCommand& command : tree.commands) {
    if (!IsAtOrAbove(command.path, path)) continue;
    for (const CompletionOption& option : command.options) {
      // --help stands at every level.
      const bool known = std::any_of(options.begin(), options.end(),
                                     [&](const CompletionOption* other) { return other->names == option.names; });
      if (!known) options.push_back(&option);
    }
  }
  return options;
}

std::vector<const CompletionCommand*> CommandsBelow(const CompletionTree& tree, std::string_view path) {
  std::vector<const CompletionCommand*> commands;
  for (const CompletionCommand& command : tree.commands) {
    if (command.path.empty()) continue;
    const size_t space = command.path.rfind(' ');
    if ((space == std::string::npos ? "" : command.path.substr(0, space)) == path) commands.push_back(&command);
  }
  return commands;
}

}  // namespace basalt::cli
