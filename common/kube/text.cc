#include "common/kube/text.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/ascii.h"
#include "absl/time/civil_time.h"
#include "common/base/excerpt.h"
#include "common/base/status.h"

namespace basalt::kube {
namespace {

absl::Status InvalidText(std::string_view what, std::string_view text, std::string_view rule) {
  return MakeStatus(absl::StatusCode::kInvalidArgument, fmt::format("'{}' is not a {}: {}", Excerpt(text), what, rule));
}

constexpr absl::CivilSecond kEpoch(1970, 1, 1);

// Returns the number in the `count` digits at `at`, or -1.
int Digits(std::string_view text, size_t at, size_t count) {
  if (at + count > text.size()) return -1;
  int value = 0;
  for (size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

std::pair<int64_t, int64_t> FloorDivide(int64_t value, int64_t by) {
  int64_t quotient = value / by;
  int64_t rest = value % by;
  if (rest < 0) {
    rest += by;
    --quotient;
  }
  return {quotient, rest};
}

constexpr std::array<std::string_view, 11> kJobPhases = {"",           "Pending",     "Running",  "Restarting",
                                                         "Completing", "Terminating", "Aborting", "Aborted",
                                                         "Completed",  "Terminated",  "Failed"};
constexpr std::array<std::string_view, 6> kPodPhases = {"", "Pending", "Running", "Succeeded", "Failed", "Unknown"};

template <size_t N>
std::string_view NameAt(const std::array<std::string_view, N>& names, int index) {
  return index >= 0 && static_cast<size_t>(index) < N ? names[static_cast<size_t>(index)] : std::string_view();
}

template <size_t N>
std::optional<int> IndexOf(const std::array<std::string_view, N>& names, std::string_view name) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<int>(i);
  }
  return std::nullopt;
}

// Returns the nanoseconds of the unit at the start of `text`, and the unit's length. 0 if there is no unit.
std::pair<int64_t, size_t> DurationUnit(std::string_view text) {
  size_t length = 0;
  while (length < text.size() && text[length] != '.' && !absl::ascii_isdigit(text[length])) ++length;
  const std::string_view unit = text.substr(0, length);
  constexpr std::pair<std::string_view, int64_t> kUnits[] = {
      {"ns", 1},         {"us", 1'000},        {"\u00b5s", 1'000},    {"\u03bcs", 1'000},
      {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000}};
  for (const auto& [name, nanos] : kUnits) {
    if (unit == name) return {nanos, length};
  }
  return {0, length};
}

// Returns `value` / 10^places without trailing zeros: 17579 with 3 places is 17.579.
std::string Fraction(uint64_t value, int places) {
  uint64_t scale = 1;
  for (int i = 0; i < places; ++i) scale *= 10;
  std::string text = std::to_string(value / scale);
  const uint64_t rest = value % scale;
  if (rest != 0) {
    std::string digits = fmt::format("{:0{}}", rest, places);
    digits.erase(digits.find_last_not_of('0') + 1);
    text += "." + digits;
  }
  return text;
}

}  // namespace

absl::StatusOr<int64_t> ParseTime(std::string_view text) {
  constexpr std::string_view kWhat = "RFC 3339 time";
  const int year = Digits(text, 0, 4);
  const int month = Digits(text, 5, 2);
  const int day = Digits(text, 8, 2);
  const int hour = Digits(text, 11, 2);
  const int minute = Digits(text, 14, 2);
  const int second = Digits(text, 17, 2);
  if (year < 0 || month < 0 || day < 0 || hour < 0 || minute < 0 || second < 0 || text[4] != '-' || text[7] != '-' ||
      (text[10] != 'T' && text[10] != 't') || text[13] != ':' || text[16] != ':') {
    return InvalidText(kWhat, text, "expected YYYY-MM-DDThh:mm:ss and a zone");
  }
  const absl::CivilSecond civil(year, month, day, hour, minute, second);
  // CivilSecond carries a part that is out of range over to the next part, which changes a part.
  if (civil.month() != month || civil.day() != day || civil.hour() != hour || civil.minute() != minute ||
      civil.second() != second) {
    return InvalidText(kWhat, text, "a part is out of range");
  }
  size_t at = 19;
  int64_t millis = 0;
  if (at < text.size() && text[at] == '.') {
    const size_t first = ++at;
    int64_t unit = 100;
    for (; at < text.size() && absl::ascii_isdigit(text[at]); ++at, unit /= 10) millis += unit * (text[at] - '0');
    if (at == first) return InvalidText(kWhat, text, "a fraction needs digits");
  }
  int64_t offset_minutes = 0;
  if (at < text.size() && (text[at] == 'Z' || text[at] == 'z')) {
    ++at;
  } else {
    const int hours = Digits(text, at + 1, 2);
    const int minutes = Digits(text, at + 4, 2);
    if (hours < 0 || hours > 24 || minutes < 0 || minutes > 59 || (text[at] != '+' && text[at] != '-') ||
        text[at + 3] != ':') {
      return InvalidText(kWhat, text, "the zone is Z or +hh:mm");
    }
    offset_minutes = (hours * 60 + minutes) * (text[at] == '-' ? -1 : 1);
    at += 6;
  }
  if (at != text.size()) return InvalidText(kWhat, text, "something follows the zone");
  return (civil - kEpoch - offset_minutes * 60) * 1000 + millis;
}

std::string FormatTime(int64_t ms) {
  const absl::CivilSecond time = kEpoch + FloorDivide(ms, 1000).first;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", time.year(), time.month(), time.day(), time.hour(),
                     time.minute(), time.second());
}

std::string FormatMicroTime(int64_t ms) {
  std::string text = FormatTime(ms);
  text.pop_back();
  return fmt::format("{}.{:03}000Z", text, FloorDivide(ms, 1000).second);
}

absl::StatusOr<absl::Duration> ParseGoDuration(std::string_view text) {
  constexpr std::string_view kWhat = "duration";
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest.front() == '-';
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) rest.remove_prefix(1);
  if (rest == "0") return absl::ZeroDuration();
  if (rest.empty()) return InvalidText(kWhat, text, "expected for example 1h30m, 90s or 500ms");

  // With a minus sign, one more than the maximum of int64 is legal, as in Go.
  constexpr absl::uint128 kBound = absl::uint128(1) << 63;
  absl::uint128 nanos = 0;
  while (!rest.empty()) {
    absl::uint128 whole = 0;
    absl::uint128 fraction = 0;
    absl::uint128 scale = 1;
    size_t at = 0;
    bool digits = false;
    for (; at < rest.size() && absl::ascii_isdigit(rest[at]); ++at) {
      whole = whole * 10 + static_cast<unsigned>(rest[at] - '0');
      if (whole > kBound) return InvalidText(kWhat, text, "too large");
      digits = true;
    }
    if (at < rest.size() && rest[at] == '.') {
      for (++at; at < rest.size() && absl::ascii_isdigit(rest[at]); ++at) {
        digits = true;
        // Digits beyond 10^-18 cannot change a nanosecond.
        if (scale >= absl::uint128(1'000'000'000'000'000'000)) continue;
        fraction = fraction * 10 + static_cast<unsigned>(rest[at] - '0');
        scale *= 10;
      }
    }
    if (!digits) return InvalidText(kWhat, text, "each part is a number and a unit");
    rest.remove_prefix(at);
    const auto [unit, length] = DurationUnit(rest);
    if (unit == 0) {
      return InvalidText(kWhat, text, length == 0 ? "a unit is missing" : "the units are ns, us, ms, s, m and h");
    }
    rest.remove_prefix(length);
    nanos += whole * static_cast<uint64_t>(unit) + fraction * static_cast<uint64_t>(unit) / scale;
    if (nanos > kBound) return InvalidText(kWhat, text, "too large");
  }
  const auto value = static_cast<uint64_t>(nanos);
  if (negative) return absl::Nanoseconds(static_cast<int64_t>(0 - value));
  if (nanos == kBound) return InvalidText(kWhat, text, "too large");
  return absl::Nanoseconds(static_cast<int64_t>(value));
}

std::string FormatGoDuration(absl::Duration duration) {
  const int64_t nanos = absl::ToInt64Nanoseconds(duration);
  if (nanos == 0) return "0s";
  const uint64_t value = nanos < 0 ? 0 - static_cast<uint64_t>(nanos) : static_cast<uint64_t>(nanos);
  const std::string sign = nanos < 0 ? "-" : "";
  if (value < 1'000) return fmt::format("{}{}ns", sign, value);
  if (value < 1'000'000) return sign + Fraction(value, 3) + "\u00b5s";
  if (value < 1'000'000'000) return sign + Fraction(value, 6) + "ms";
  const uint64_t minutes = value / 60'000'000'000;
  const std::string seconds = Fraction(value % 60'000'000'000, 9) + "s";
  if (minutes == 0) return sign + seconds;
  if (minutes < 60) return fmt::format("{}{}m{}", sign, minutes, seconds);
  return fmt::format("{}{}h{}m{}", sign, minutes / 60, minutes % 60, seconds);
}

std::string_view JobPhaseName(v1::JobPhase phase) { return NameAt(kJobPhases, phase); }
std::string_view PodPhaseName(v1::PodPhase phase) { return NameAt(kPodPhases, phase); }

std::optional<v1::JobPhase> ParseJobPhase(std::string_view text) {
  const std::optional<int> index = IndexOf(kJobPhases, text);
  if (!index.has_value()) return std::nullopt;
  return static_cast<v1::JobPhase>(*index);
}

std::optional<v1::PodPhase> ParsePodPhase(std::string_view text) {
  const std::optional<int> index = IndexOf(kPodPhases, text);
  if (!index.has_value()) return std::nullopt;
  return static_cast<v1::PodPhase>(*index);
}

}  // namespace basalt::kube
