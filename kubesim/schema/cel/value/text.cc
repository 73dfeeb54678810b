#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "common/base/status.h"
#include "kubesim/schema/cel/value/value.h"

namespace basalt::kubesim::cel {
namespace {

std::string Trimmed(std::string digits) {
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  return digits;
}

std::string Ipv6Text(const Address& address) {
  std::array<unsigned, 8> groups{};
  for (size_t i = 0; i < 8; ++i) groups[i] = address.bytes[2 * i] * 256U + address.bytes[2 * i + 1];
  size_t best = 8;
  size_t best_length = 1;
  for (size_t i = 0; i < 8; ++i) {
    size_t length = 0;
    while (i + length < 8 && groups[i + length] == 0) ++length;
    if (length > best_length) {
      best = i;
      best_length = length;
    }
  }
  std::string text;
  for (size_t i = 0; i < 8; ++i) {
    if (i == best) {
      text += "::";
      i += best_length - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    text += fmt::format("{:x}", groups[i]);
  }
  return text;
}

}  // namespace

absl::StatusOr<Duration> ParseDuration(std::string_view text) {
  absl::Duration parsed;
  const bool infinite = text.find('i') != std::string_view::npos;
  if (infinite || !absl::ParseDuration(ToAbsl(text), &parsed)) {
    return EvalError(fmt::format("time: invalid duration \"{}\"", text));
  }
  const absl::Duration limit = absl::Nanoseconds(INT64_MAX);
  if (parsed > limit || parsed < -limit) return EvalError(fmt::format("time: invalid duration \"{}\"", text));
  return Duration{absl::ToInt64Nanoseconds(parsed)};
}

absl::StatusOr<Timestamp> ParseTimestamp(std::string_view text) {
  absl::Time time;
  std::string error;
  // RFC3339 wants the T and the zone; a colon stands in the zone.
  const bool shape = text.size() >= 20 && text[10] == 'T' && (text.back() == 'Z' || text[text.size() - 3] == ':');
  if (!shape || !absl::ParseTime(absl::RFC3339_full, ToAbsl(text), &time, &error)) {
    return EvalError(fmt::format("parsing time \"{0}\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"{0}\"", text));
  }
  return Timestamp{time};
}

std::string DurationText(Duration duration) {
  const bool negative = duration.nanos < 0;
  const uint64_t nanos = negative ? 0 - static_cast<uint64_t>(duration.nanos) : static_cast<uint64_t>(duration.nanos);
  std::string text = fmt::format("{}{}", negative ? "-" : "", nanos / 1000000000);
  if (const std::string fraction = Trimmed(fmt::format("{:09}", nanos % 1000000000)); !fraction.empty()) {
    text += "." + fraction;
  }
  return text + "s";
}

std::string TimestampText(Timestamp timestamp) {
  return std::string(ToStd(absl::FormatTime("%Y-%m-%d%ET%H:%M:%E*SZ", timestamp.time, absl::UTCTimeZone())));
}

std::string DoubleText(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "+Inf" : "-Inf";
  // The shortest text that reads back the same.
  for (int digits = 1; digits <= 17; ++digits) {
    std::string text = fmt::format("{:.{}e}", number, digits - 1);
    if (std::strtod(text.c_str(), nullptr) != number) continue;
    const int exponent = std::atoi(text.c_str() + text.find('e') + 1);
    if (exponent < -4 || exponent >= 6) return text;
    return fmt::format("{:.{}f}", number, std::max(0, digits - 1 - exponent));
  }
  return fmt::format("{}", number);
}

std::string AddressText(const Address& address) {
  if (!address.is_v4) return Ipv6Text(address);
  return fmt::format("{}.{}.{}.{}", address.bytes[0], address.bytes[1], address.bytes[2], address.bytes[3]);
}

}  // namespace basalt::kubesim::cel
