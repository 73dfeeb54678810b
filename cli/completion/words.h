#pragma once

// Pieces that the scripts have in common.
#include <set>
#include <string>
#include <vector>

#include "cli/completion/tree.h"

namespace basalt::cli {

// 'text', as every shell reads it back; fish alone would escape otherwise, so texts with quotes lose them.
std::string Quoted(std::string text);
// Names of all options that take a value, wherever they stand.
std::vector<std::string> ValueOptions(const CompletionTree& tree);
// Paths of all commands, the program's own left out.
std::vector<std::string> Paths(const CompletionTree& tree);

}  // namespace basalt::cli
