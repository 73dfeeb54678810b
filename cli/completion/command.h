#pragma once

namespace CLI {
class App;
}

namespace basalt::cli {

// basaltctl completion bash|zsh|fish: prints the script for all commands of `app`, also those that are added later.
void AddCompletionCommand(CLI::App& app);

}  // namespace basalt::cli
