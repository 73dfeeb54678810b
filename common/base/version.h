#pragma once

#include <string>
#include <string_view>

namespace basalt {

// The release of the suite, as every process reports it to people. Which processes work together:
// common/rpc/protocols.h.
std::string_view Version();

// The text that --version prints: the release, and the commit of an image (the option BASALT_REVISION of the build)
// where one is known: "0.2.0" or "0.2.0, revision 0123abcd…".
std::string VersionText();

}  // namespace basalt
