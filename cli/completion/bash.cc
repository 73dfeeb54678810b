#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion/scripts.h"
#include "cli/completion/words.h"

namespace basalt::cli {
namespace {

// What may follow, by path; and what a value may be, by path and option.
constexpr std::string_view kFrame = R"(# bash completion for {0}: source <({0} completion bash)
_{0}() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} at='' option='' word words='' kind='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${{COMP_WORDS[i]}}
    # "--name=value" comes as three words.
    [[ $word == '=' ]] && continue
    if [[ -n $option ]]; then
      option=''
      continue
    fi
    case $word in
      {1}) option=$word ;;
      -*) ;;
      *)
        case "${{at:+$at }}$word" in
          {2}) at="${{at:+$at }}$word" ;;
        esac
        ;;
    esac
  done
  [[ $cur == '=' ]] && cur=''
  if [[ -n $option ]]; then
    case "$at:$option" in
{3}    esac
    case $kind in
      file)
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        compopt -o filenames 2>/dev/null || true
        ;;
      list)
        local before=''
        [[ $cur == *,* ]] && before=${{cur%,*}},
        mapfile -t COMPREPLY < <(compgen -P "$before" -W "$words" -- "${{cur##*,}}")
        compopt -o nospace 2>/dev/null || true
        ;;
      one) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur") ;;
    esac
    return 0
  fi
  case $at in
{4}  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}}
complete -F _{0} {0}
)";

std::string Alternatives(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(Quoted(word));
  return fmt::format("{}", fmt::join(quoted, " | "));
}

std::string ValueCases(const CompletionTree& tree) {
  std::string cases;
  for (const CompletionCommand& command : tree.commands) {
    for (const CompletionOption& option : command.options) {
      if (option.values.empty() && !option.is_file) continue;
      std::vector<std::string> patterns;
      // Also below the command that has it.
      for (const std::string& name : option.names) {
        patterns.push_back(fmt::format("{}*:{}", Quoted(command.path), name));
      }
      cases += fmt::format("      {}) kind={} words={} ;;\n", fmt::join(patterns, " | "),
                           option.is_file   ? "file"
                           : option.is_list ? "list"
                                            : "one",
                           Quoted(fmt::format("{}", fmt::join(option.values, " "))));
    }
  }
  return cases;
}

// Options once a dash is there, else commands and arguments.
std::string WordCases(const CompletionTree& tree) {
  std::string cases;
  for (const CompletionCommand& command : tree.commands) {
    std::vector<std::string> options;
    for (const CompletionOption* option : OptionsAt(tree, command.path)) {
      options.insert(options.end(), option->names.begin(), option->names.end());
    }
    std::vector<std::string> words = command.arguments;
    for (const CompletionCommand* below : CommandsBelow(tree, command.path)) words.push_back(below->name);
    cases += fmt::format("    {}) if [[ $cur == -* ]]; then words={}; else words={}; fi ;;\n", Quoted(command.path),
                         Quoted(fmt::format("{}", fmt::join(options, " "))),
                         Quoted(fmt::format("{}", fmt::join(words, " "))));
  }
  return cases;
}

}  // namespace

std::string BashCompletion(const CompletionTree& tree) {
  return fmt::format(kFrame, tree.program, Alternatives(ValueOptions(tree)), Alternatives(Paths(tree)),
                     ValueCases(tree), WordCases(tree));
}

}  // namespace basalt::cli
