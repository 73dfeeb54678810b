#include "gateway/kube/api_clock.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/kube/text.h"

namespace basalt::gateway {

int64_t ParseHttpDate(std::string_view date) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (date.size() != 29 || date.substr(3, 2) != ", " || date.substr(25) != " GMT") return -1;
  const size_t month = kMonths.find(date.substr(8, 3));
  if (month == std::string_view::npos || month % 3 != 0) return -1;
  const absl::StatusOr<int64_t> ms = kube::ParseTime(
      fmt::format("{}-{:02}-{}T{}Z", date.substr(12, 4), month / 3 + 1, date.substr(5, 2), date.substr(17, 8)));
  return ms.value_or(-1);
}

void ApiClock::Observe(std::string_view date) {
  const int64_t server_ms = ParseHttpDate(date);
  if (server_ms < 0) return;
  // The header was cut to whole seconds: the server's clock stood anywhere within the second that follows it.
  const int64_t low = server_ms - LocalMs();
  offset_ms_ = known_ ? std::clamp(offset_ms_, low, low + 1000) : low + 500;
  known_ = true;
}

int64_t ApiClock::NowMs() {
  const int64_t now = LocalMs() + offset_ms_;
  if (now < last_ms_ && last_ms_ - now <= 1000) return last_ms_;
  last_ms_ = now;
  return now;
}

}  // namespace basalt::gateway
