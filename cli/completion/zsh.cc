#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/completion/scripts.h"
#include "cli/completion/words.h"

namespace basalt::cli {
namespace {

constexpr std::string_view kFrame = R"(#compdef {0}
# zsh completion for {0}: source <({0} completion zsh), or a file _{0} in a folder of $fpath
_{0}() {{
  local at='' option='' word i
  local -a commands options values
  for ((i = 2; i < CURRENT; i++)); do
    word=${{words[i]}}
    if [[ -n $option ]]; then
      option=''
      continue
    fi
    case $word in
      ({1}) option=$word ;;
      (-*) ;;
      (*)
        case "${{at:+$at }}$word" in
          ({2}) at="${{at:+$at }}$word" ;;
        esac
        ;;
    esac
  done
  if [[ -z $option && ${{words[CURRENT]}} == --*=* ]]; then
    option=${{words[CURRENT]%%=*}}
    compset -P '*='
  fi
  if [[ -n $option ]]; then
    case "$at:$option" in
{3}    esac
    return
  fi
  case $at in
{4}  esac
  if [[ ${{words[CURRENT]}} == -* ]]; then
    _describe option options
  else
    _describe command commands
  fi
}}
if [[ ${{funcstack[1]}} == _{0} ]]; then
  _{0} "$@"
elif (( ${{+functions[compdef]}} )); then
  compdef _{0} {0}
fi
)";

std::string Alternatives(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(Quoted(word));
  return fmt::format("{}", fmt::join(quoted, "|"));
}

// 'word:help' as _describe takes it.
std::string Described(const std::string& word, std::string help) {
  std::replace(help.begin(), help.end(), ':', ',');
  return Quoted(help.empty() ? word : fmt::format("{}:{}", word, help));
}

std::string ValueCases(const CompletionTree& tree) {
  std::string cases;
  for (const CompletionCommand& command : tree.commands) {
    for (const CompletionOption& option : command.options) {
      if (option.values.empty() && !option.is_file) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) {
        patterns.push_back(fmt::format("{}*:{}", Quoted(command.path), name));
      }
      const std::string values = fmt::format("{}", fmt::join(option.values, " "));
      cases += fmt::format("      ({}) {} ;;\n", fmt::join(patterns, "|"),
                           option.is_file   ? "_files"
                           : option.is_list ? fmt::format("compset -P '*,'; compadd -qS, -- {}", values)
                                            : fmt::format("compadd -- {}", values));
    }
  }
  return cases;
}

std::string WordCases(const CompletionTree& tree) {
  std::string cases;
  for (const CompletionCommand& command : tree.commands) {
    std::vector<std::string> options, words;
    for (const CompletionOption* option : OptionsAt(tree, command.path)) {
      for (const std::string& name : option->names) options.push_back(Described(name, option->help));
    }
    for (const std::string& argument : command.arguments) words.push_back(Described(argument, ""));
    for (const CompletionCommand* below : CommandsBelow(tree, command.path)) {
      words.push_back(Described(below->name, below->help));
    }
    cases += fmt::format("    ({})\n      commands=({})\n      options=({})\n      ;;\n", Quoted(command.path),
                         fmt::join(words, " "), fmt::join(options, " "));
  }
  return cases;
}

}  // namespace

std::string ZshCompletion(const CompletionTree& tree) {
  return fmt::format(kFrame, tree.program, Alternatives(ValueOptions(tree)), Alternatives(Paths(tree)),
                     ValueCases(tree), WordCases(tree));
}

}  // namespace basalt::cli
