#pragma once

// What there is to complete, read off the command line's own definition, so that no script can fall behind it. Pure.
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace basalt::cli {

struct CompletionOption {
  std::vector<std::string> names;  // With their dashes.
  std::string help;
  bool takes_value = false;
  bool is_file = false;
  bool is_list = false;             // Values may be joined by commas.
  std::vector<std::string> values;  // Empty: anything.
};

struct CompletionCommand {
  std::string path;  // "job submit"; empty for the program itself.
  std::string name;
  std::string help;
  std::vector<CompletionOption> options;  // Its own.
  std::vector<std::string> arguments;     // What its positional argument may be; empty: anything.
  bool has_commands = false;
};

struct CompletionTree {
  std::string program;
  std::vector<CompletionCommand> commands;  // The program first, each command before those below it.
};

// An option is completed by what stands for its value in the help: {a,b} is a set of values, FILE a file.
CompletionTree ReadTree(const CLI::App& app);

// Those of the command and of all commands above it.
std::vector<const CompletionOption*> OptionsAt(const CompletionTree& tree, std::string_view path);
// Right below `path`.
std::vector<const CompletionCommand*> CommandsBelow(const CompletionTree& tree, std::string_view path);

}  // namespace basalt::cli
