#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion/scripts.h"
#include "cli/completion/words.h"

namespace basalt::cli {
namespace {

constexpr std::string_view kFrame = R"(# fish completion for {0}: {0} completion fish | source
function __{0}_path
    set -l at
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        switch $word
            case {1}
                set skip 1
            case '-*'
            case '*'
                if contains -- (string join ' ' $at $word) {2}
                    set at $at $word
                end
        end
    end
    string join ' ' $at
end
function __{0}_at
    set -l at (__{0}_path)
    test "$at" = "$argv[1]"
end
function __{0}_below
    set -l at (__{0}_path)
    string match -q -- "$argv[1]*" "$at"
end
complete -c {0} -f
)";

std::string Alternatives(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(Quoted(word));
  return fmt::format("{}", fmt::join(quoted, " "));
}

std::string Line(const CompletionTree& tree, const CompletionCommand& command, const CompletionOption& option) {
  std::string line = fmt::format("complete -c {}", tree.program);
  if (!command.path.empty()) line += fmt::format(" -n \"__{}_below '{}'\"", tree.program, command.path);
  for (const std::string& name : option.names) {
    line += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2)) : fmt::format(" -s {}", name.substr(1));
  }
  if (option.takes_value) line += option.is_file ? " -r -F" : " -x";
  if (!option.values.empty()) line += fmt::format(" -a {}", Quoted(fmt::format("{}", fmt::join(option.values, " "))));
  return fmt::format("{} -d {}\n", line, Quoted(option.help));
}

}  // namespace

std::string FishCompletion(const CompletionTree& tree) {
  std::string script = fmt::format(kFrame, tree.program, Alternatives(ValueOptions(tree)), Alternatives(Paths(tree)));
  for (const CompletionCommand& command : tree.commands) {
    for (const CompletionCommand* below : CommandsBelow(tree, command.path)) {
      script += fmt::format("complete -c {0} -n \"__{0}_at '{1}'\" -a {2} -d {3}\n", tree.program, command.path,
                            below->name, Quoted(below->help));
    }
    if (!command.arguments.empty()) {
      script += fmt::format("complete -c {0} -n \"__{0}_at '{1}'\" -a {2}\n", tree.program, command.path,
                            Quoted(fmt::format("{}", fmt::join(command.arguments, " "))));
    }
    for (const CompletionOption& option : command.options) {
      // --help stands at every level, and needs to be told once.
      if (command.path.empty() || option.names.front() != "--help") script += Line(tree, command, option);
    }
  }
  return script;
}

}  // namespace basalt::cli
