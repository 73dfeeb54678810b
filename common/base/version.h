#pragma once

#include <string>
#include <string_view>

namespace basalt {

// Returns the release of the suite, as every process reports it to people. common/rpc/protocols.h states which
// processes work together.
std::string_view Version();

// Returns the text that --version prints: the release and, if the build option BASALT_REVISION names the commit of an
// image, that commit: "0.2.0" or "0.2.0, revision 0123abcd…".
std::string VersionText();

}  // namespace basalt
