#include "common/base/version.h"

namespace basalt {

std::string_view Version() { return BASALT_VERSION; }

}  // namespace basalt
