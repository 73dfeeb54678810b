#include "kubesim/server/state/times.h"

namespace basalt::kubesim {

std::string Rfc3339(absl::Time time) { return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone()); }

}  // namespace basalt::kubesim
