#pragma once

// Completion scripts for shells: text that a shell sources. Pure.
#include <string>

#include "cli/completion/tree.h"

namespace basalt::cli {

std::string BashCompletion(const CompletionTree& tree);
std::string ZshCompletion(const CompletionTree& tree);
std::string FishCompletion(const CompletionTree& tree);

}  // namespace basalt::cli
