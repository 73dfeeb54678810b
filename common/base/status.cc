#include "common/base/status.h"

#include <string>

namespace basalt {

absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  std::string message(context);
  message += ": ";
  message += ToStd(status.message());
  absl::Status annotated = MakeStatus(status.code(), message);
  status.ForEachPayload(
      [&](absl::string_view type, const absl::Cord& payload) { annotated.SetPayload(type, payload); });
  return annotated;
}

}  // namespace basalt
