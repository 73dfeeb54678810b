#include "common/base/yaml_scalar.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"

namespace basalt::yaml_internal {
namespace {

constexpr std::string_view kTrue[] = {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"};
constexpr std::string_view kFalse[] = {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"};
constexpr std::string_view kNull[] = {"", "~", "null", "Null", "NULL"};
constexpr std::string_view kInfinite[] = {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"};
constexpr std::string_view kMinusInfinite[] = {"-.inf", "-.Inf", "-.INF"};
constexpr std::string_view kNotANumber[] = {".nan", ".NaN", ".NAN"};

template <size_t N>
bool IsOneOf(std::string_view text, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), text) != std::end(names);
}

std::optional<json::value> ParseInteger(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char mark = text[1];
    base = mark == 'x' || mark == 'X' ? 16 : mark == 'b' || mark == 'B' ? 2 : 8;
    text.remove_prefix(base == 8 && mark != 'o' && mark != 'O' ? 1 : 2);
  }
  uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  if (negative) {
    if (magnitude > kMax + 1) return std::nullopt;
    return json::value(static_cast<int64_t>(~magnitude + 1));
  }
  if (magnitude <= kMax) return json::value(static_cast<int64_t>(magnitude));
  return json::value(magnitude);
}

// Matches [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool HasFloatForm(std::string_view text) {
  size_t at = 0;
  const auto digits = [&] {
    const size_t start = at;
    while (at < text.size() && absl::ascii_isdigit(text[at])) ++at;
    return at - start;
  };
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  const size_t whole = digits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (digits() == 0 && whole == 0) return false;
  } else if (whole == 0) {
    return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (digits() == 0) return false;
  }
  return at == text.size();
}

// Returns an integral float as an integer: kubectl's way through JSON prints such a float without a fraction.
json::value Number(double value) {
  if (std::floor(value) == value && std::abs(value) < 9.2e18) return json::value(static_cast<int64_t>(value));
  return json::value(value);
}

}  // namespace

std::optional<json::value> ResolvePlain(std::string_view text) {
  if (IsOneOf(text, kNull)) return json::value(nullptr);
  if (IsOneOf(text, kTrue)) return json::value(true);
  if (IsOneOf(text, kFalse)) return json::value(false);
  if (IsOneOf(text, kInfinite)) return json::value(std::numeric_limits<double>::infinity());
  if (IsOneOf(text, kMinusInfinite)) return json::value(-std::numeric_limits<double>::infinity());
  if (IsOneOf(text, kNotANumber)) return json::value(std::numeric_limits<double>::quiet_NaN());
  const char first = text[0];
  if (!absl::ascii_isdigit(first) && first != '+' && first != '-' && first != '.') return std::nullopt;

  std::string plain(text);
  std::erase(plain, '_');
  if (auto integer = ParseInteger(plain)) return integer;
  if (!HasFloatForm(plain)) return std::nullopt;
  const char* begin = plain.data() + (plain[0] == '+' ? 1 : 0);
  double value = 0;
  const auto [end, error] = std::from_chars(begin, plain.data() + plain.size(), value);
  if (error == std::errc::result_out_of_range) return json::value(std::numeric_limits<double>::infinity());
  if (error != std::errc() || end != plain.data() + plain.size()) return std::nullopt;
  return Number(value);
}

bool LooksLikeTime(std::string_view text) {
  if (text.size() < 8 || !absl::ascii_isdigit(text[0]) || !absl::ascii_isdigit(text[1]) ||
      !absl::ascii_isdigit(text[2]) || !absl::ascii_isdigit(text[3]))
    return false;
  return text[4] == '-' && absl::ascii_isdigit(text[5]) && std::all_of(text.begin() + 5, text.end(), [](char c) {
           return absl::ascii_isdigit(c) || c == '-' || c == ':' || c == '.' || c == 'T' || c == 't' || c == 'Z' ||
                  c == ' ' || c == '+';
         });
}

}  // namespace basalt::yaml_internal
