#include "cli/completion/command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/completion/scripts.h"

namespace basalt::cli {

void AddCompletionCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("completion", "Print a script that completes commands in a shell");
  command->fallthrough();
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "Which; for example: source <(basaltctl completion bash)")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&app, shell] {
    const CompletionTree tree = ReadTree(app);
    const std::string script = *shell == "bash"  ? BashCompletion(tree)
                               : *shell == "zsh" ? ZshCompletion(tree)
                                                 : FishCompletion(tree);
    std::fputs(script.c_str(), stdout);
  });
}

}  // namespace basalt::cli
