#pragma once

#include <string_view>

namespace CLI {
class App;
}

namespace basalt::cli {

// A hidden command for the scripts (complete.h): `basaltctl __complete WORD…` prints the completions of the last word.
// The command is recognised as the first word only.
inline constexpr std::string_view kCompleteCommand = "__complete";
void PrintCompletions(const CLI::App& app, int argc, const char* const* argv);

// Adds `basaltctl completion bash|zsh|fish`, which prints a script that calls kCompleteCommand.
void AddCompletionCommand(CLI::App& app);

}  // namespace basalt::cli
