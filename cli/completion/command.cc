#include "cli/completion/command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/completion/complete.h"

namespace basalt::cli {
namespace {

constexpr char kBash[] = R"(# bash completion for basaltctl: source <(basaltctl completion bash)
_basaltctl() {
  local kind='' words=() cur=${COMP_WORDS[COMP_CWORD]}
  { read -r kind && mapfile -t words; } < <("${COMP_WORDS[0]/#\~/$HOME}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || true
  COMPREPLY=("${words[@]%%$'\t'*}")
  case $kind in
    files)
      mapfile -t COMPREPLY < <(compgen -f -- "${cur#=}")
      compopt -o filenames 2>/dev/null || true
      ;;
    list) compopt -o nospace 2>/dev/null || true ;;
  esac
}
complete -F _basaltctl basaltctl
)";

constexpr char kZsh[] = R"(#compdef basaltctl
# zsh completion for basaltctl: source <(basaltctl completion zsh), or a file _basaltctl in a folder of $fpath
_basaltctl() {
  local kind
  local -a found
  found=("${(@f)$("${(Q)words[1]/#\~/$HOME}" __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  kind=${found[1]}
  shift found
  case $kind in
    (files)
      [[ ${words[CURRENT]} == --*=* ]] && compset -P '*='
      _files
      ;;
    (list) compadd -qS, -- "${(@)found%%$'\t'*}" ;;
    (*)
      found=("${(@)found/$'\t'/:}")
      _describe word found
      ;;
  esac
}
if [[ ${funcstack[1]} == _basaltctl ]]; then
  _basaltctl "$@"
elif (( ${+functions[compdef]} )); then
  compdef _basaltctl basaltctl
fi
)";

constexpr char kFish[] = R"(# fish completion for basaltctl: basaltctl completion fish | source
function __basaltctl_complete
    set -l line (commandline -opc)
    set -l current (commandline -ct)
    set -l found ($line[1] __complete $line[2..-1] "$current" 2>/dev/null)
    if test "$found[1]" = files
        set -l option (string match -r -- '^--[^=]*=' "$current")
        printf "$option%s\n" (__fish_complete_path (string replace -- "$option" '' "$current"))
    else
        printf '%s\n' $found[2..-1]
    end
end
complete -c basaltctl -f -a '(__basaltctl_complete)'
)";

}  // namespace

void PrintCompletions(const CLI::App& app, int argc, const char* const* argv) {
  std::fputs(TextOf(Complete(app, {argv + 2, argv + argc})).c_str(), stdout);
}

void AddCompletionCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("completion", "Print a script that completes commands in a shell");
  command->fallthrough();
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "Which; for example: source <(basaltctl completion bash)")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([shell] { std::fputs(*shell == "bash" ? kBash : *shell == "zsh" ? kZsh : kFish, stdout); });
}

}  // namespace basalt::cli
