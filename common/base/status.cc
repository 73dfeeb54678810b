#include "common/base/status.h"

#include <string>

namespace basalt {

absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  std::string message(context);
  message += ": ";
  message += ToStd(status.message());
  return MakeStatus(status.code(), message);
}

}  // namespace basalt
