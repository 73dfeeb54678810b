#include "common/base/version.h"

namespace basalt {

std::string_view Version() { return BASALT_VERSION; }

std::string VersionText() {
  constexpr std::string_view kRevision = BASALT_REVISION;
  std::string text(Version());
  if (!kRevision.empty()) text.append(", revision ").append(kRevision);
  return text;
}

}  // namespace basalt
