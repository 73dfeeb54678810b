#pragma once

#include <string_view>

namespace basalt {

// The version of the suite, as every process reports it. Peers of another version are refused.
std::string_view Version();

}  // namespace basalt
