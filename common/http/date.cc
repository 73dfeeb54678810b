#include "common/http/date.h"

namespace basalt::http {
namespace {

constexpr char kFormat[] = "%a, %d %b %Y %H:%M:%S GMT";

}  // namespace

std::optional<absl::Time> ParseDate(std::string_view text) {
  absl::Time time;
  std::string ignored;
  if (!absl::ParseTime(kFormat, std::string(text), &time, &ignored)) return std::nullopt;
  return time;
}

std::string FormatDate(absl::Time time) { return absl::FormatTime(kFormat, time, absl::UTCTimeZone()); }

}  // namespace basalt::http
