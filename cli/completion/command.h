#pragma once

#include <string_view>

namespace CLI {
class App;
}

namespace basalt::cli {

// Hidden, and only as the first word: `basaltctl __complete WORD…` prints what may stand for the last word, for the
// scripts (complete.h).
inline constexpr std::string_view kCompleteCommand = "__complete";
void PrintCompletions(const CLI::App& app, int argc, const char* const* argv);

// basaltctl completion bash|zsh|fish: prints a script that asks kCompleteCommand.
void AddCompletionCommand(CLI::App& app);

}  // namespace basalt::cli
