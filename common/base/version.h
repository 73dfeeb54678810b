#pragma once

#include <string_view>

namespace basalt {

// The release of the suite, as every process reports it to people. Which processes work together:
// common/rpc/protocols.h.
std::string_view Version();

}  // namespace basalt
