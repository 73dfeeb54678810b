#include "cli/completion/words.h"

#include <algorithm>

namespace basalt::cli {

std::string Quoted(std::string text) {
  std::erase_if(text, [](char c) { return c == '\'' || c == '\\'; });
  return "'" + text + "'";
}

std::vector<std::string> ValueOptions(const CompletionTree& tree) {
  std::set<std::string> names;
  for (const CompletionCommand& command : tree.commands) {
    for (const CompletionOption& option : command.options) {
      if (option.takes_value) names.insert(option.names.begin(), option.names.end());
    }
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> Paths(const CompletionTree& tree) {
  std::vector<std::string> paths;
  for (const CompletionCommand& command : tree.commands) {
    if (!command.path.empty()) paths.push_back(command.path);
  }
  return paths;
}

}  // namespace basalt::cli
