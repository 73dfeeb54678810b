#include "common/kube/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::kube {
namespace {

using absl::int128;
using absl::uint128;

constexpr int kNanoDigits = 9;
constexpr int64_t kNano = 1'000'000'000;
// Is a third of the largest number, so that a sum of two never overflows.
const int128 kBound = std::numeric_limits<int128>::max() / 3;

struct Suffix {
  std::string_view text;
  int exponent;
};
constexpr std::array<Suffix, 10> kDecimal = {
    {{"n", -9}, {"u", -6}, {"m", -3}, {"", 0}, {"k", 3}, {"M", 6}, {"G", 9}, {"T", 12}, {"P", 15}, {"E", 18}}};
constexpr std::array<Suffix, 6> kBinary = {{{"Ki", 10}, {"Mi", 20}, {"Gi", 30}, {"Ti", 40}, {"Pi", 50}, {"Ei", 60}}};

int128 Clamp(int128 value) { return std::clamp(value, -kBound, kBound); }

// Returns the product, limited to the bound. Requires: |a| and |b| are at most the bound.
int128 Multiply(int128 a, int128 b) {
  if (a == 0 || b == 0) return 0;
  const int128 size_a = a < 0 ? -a : a;
  const int128 size_b = b < 0 ? -b : b;
  const bool negative = (a < 0) != (b < 0);
  if (size_a > kBound / size_b) return negative ? -kBound : kBound;
  return a * b;
}

struct Unit {
  int base = 10;
  int exponent = 0;
  Quantity::Form form = Quantity::Form::kDecimalSi;
};

std::optional<Unit> ParseSuffix(std::string_view text) {
  for (const Suffix& suffix : kDecimal) {
    if (suffix.text == text) return Unit{10, suffix.exponent, Quantity::Form::kDecimalSi};
  }
  for (const Suffix& suffix : kBinary) {
    if (suffix.text == text) return Unit{2, suffix.exponent, Quantity::Form::kBinarySi};
  }
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  std::string_view digits = text.substr(1);
  const bool negative = digits.front() == '-';
  if (digits.front() == '-' || digits.front() == '+') digits.remove_prefix(1);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit)) return std::nullopt;
  int exponent = 0;
  // Beyond a thousand the result does not change any more: it is at the bound, or rounded to the least value.
  for (const char c : digits) exponent = std::min(1000, exponent * 10 + (c - '0'));
  return Unit{10, negative ? -exponent : exponent, Quantity::Form::kDecimalExponent};
}

// Returns digits × 10^scale in nanos, rounded up to the next nano.
int128 Scale(std::string_view digits, int scale) {
  const size_t first = digits.find_first_not_of('0');
  if (first == std::string_view::npos) return 0;
  digits.remove_prefix(first);
  int128 value = 0;
  const int exponent = scale + kNanoDigits;
  // Digits below a nano only decide whether to round up.
  const size_t dropped = exponent < 0 ? std::min(digits.size(), static_cast<size_t>(-exponent)) : 0;
  const bool round_up = digits.substr(digits.size() - dropped).find_first_not_of('0') != std::string_view::npos;
  for (const char c : digits.substr(0, digits.size() - dropped)) {
    if (value > kBound / 10 - 10) return kBound;
    value = value * 10 + (c - '0');
  }
  for (int i = 0; i < exponent; ++i) {
    if (value > kBound / 10) return kBound;
    value *= 10;
  }
  return value + (round_up ? 1 : 0);
}

int64_t ToInt64(int128 value) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  if (value > kMax) return kMax;
  if (value < -int128(kMax)) return -kMax;
  return static_cast<int64_t>(value);
}

int128 DivideAwayFromZero(int128 value, int64_t by) {
  const int128 quotient = value / by;
  if (value % by == 0) return quotient;
  return value < 0 ? quotient - 1 : quotient + 1;
}

std::string Digits(uint128 value) {
  std::string text;
  do {
    text += static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  } while (value != 0);
  std::reverse(text.begin(), text.end());
  return text;
}

std::string DecimalText(uint128 nanos, Quantity::Form form) {
  int exponent = -kNanoDigits;
  while (nanos % 10 == 0) {
    nanos /= 10;
    ++exponent;
  }
  // Suffixes stand for powers of a thousand.
  for (; exponent % 3 != 0; --exponent) nanos *= 10;
  const std::string digits = Digits(nanos);
  if (exponent == 0) return digits;
  if (form == Quantity::Form::kDecimalSi) {
    for (const Suffix& suffix : kDecimal) {
      if (suffix.exponent == exponent) return digits + std::string(suffix.text);
    }
  }
  return fmt::format("{}e{}", digits, exponent);
}

}  // namespace

Quantity Quantity::OfInt(int64_t value, Form form) {
  Quantity quantity;
  quantity.nanos_ = int128(value) * kNano;
  quantity.form_ = form;
  return quantity;
}

absl::StatusOr<Quantity> Quantity::Parse(std::string_view text) {
  const auto invalid = [text](std::string_view rule) {
    return Invalid(fmt::format("'{}' is not a quantity: {}", Excerpt(text), rule));
  };
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest.front() == '-';
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) rest.remove_prefix(1);

  std::string digits;
  int places = 0;
  size_t at = 0;
  for (; at < rest.size() && absl::ascii_isdigit(rest[at]); ++at) digits += rest[at];
  if (at < rest.size() && rest[at] == '.') {
    for (++at; at < rest.size() && absl::ascii_isdigit(rest[at]); ++at, ++places) digits += rest[at];
  }
  if (digits.empty()) return invalid("expected a number and a suffix, for example 500m, 2 or 4Gi");
  if (digits.size() > 4096) return invalid("too many digits");
  const std::optional<Unit> unit = ParseSuffix(rest.substr(at));
  if (!unit.has_value()) return invalid("the suffixes are n, u, m, k, M, G, T, P, E, Ki … Ei, or an exponent");

  Quantity quantity;
  quantity.form_ = unit->form;
  if (unit->base == 10) {
    quantity.nanos_ = Scale(digits, unit->exponent - places);
  } else {
    // Scale the number by the power of two before rounding, so that 0.5Ki is exact.
    std::string scaled = digits;
    for (int i = 0; i < unit->exponent; ++i) {
      int carry = 0;
      for (auto digit = scaled.rbegin(); digit != scaled.rend(); ++digit) {
        const int doubled = (*digit - '0') * 2 + carry;
        *digit = static_cast<char>('0' + doubled % 10);
        carry = doubled / 10;
      }
      if (carry != 0) scaled.insert(scaled.begin(), '1');
    }
    quantity.nanos_ = Scale(scaled, -places);
    quantity.nanos_ = std::min(quantity.nanos_, int128(std::numeric_limits<int64_t>::max()) * kNano);
    if (quantity.nanos_ > 0 && quantity.nanos_ < kNano) quantity.form_ = Form::kDecimalSi;
  }
  if (negative) quantity.nanos_ = -quantity.nanos_;
  return quantity;
}

Quantity& Quantity::operator+=(const Quantity& other) {
  if (IsZero()) form_ = other.form_;
  nanos_ = Clamp(nanos_ + other.nanos_);
  return *this;
}

Quantity& Quantity::operator-=(const Quantity& other) {
  if (IsZero()) form_ = other.form_;
  nanos_ = Clamp(nanos_ - other.nanos_);
  return *this;
}

Quantity& Quantity::operator*=(int64_t factor) {
  nanos_ = Multiply(nanos_, factor);
  return *this;
}

int64_t Quantity::Value() const { return ToInt64(DivideAwayFromZero(nanos_, kNano)); }
int64_t Quantity::MilliValue() const { return ToInt64(DivideAwayFromZero(nanos_, kNano / 1000)); }

std::string Quantity::Text() const {
  if (nanos_ == 0) return "0";
  const auto size = static_cast<uint128>(nanos_ < 0 ? -nanos_ : nanos_);
  const std::string sign = nanos_ < 0 ? "-" : "";
  // Below 1024, or with a fraction, the binary form would lose precision: Kubernetes prints the decimal one.
  if (form_ == Form::kBinarySi && size % kNano == 0 && size >= uint128(1024) * kNano) {
    uint128 value = size / kNano;
    size_t suffix = 0;
    for (; value % 1024 == 0 && suffix < kBinary.size(); ++suffix) value /= 1024;
    return sign + Digits(value) + (suffix == 0 ? std::string() : std::string(kBinary[suffix - 1].text));
  }
  return sign + DecimalText(size, form_ == Form::kBinarySi ? Form::kDecimalSi : form_);
}

absl::StatusOr<std::string> CanonicalQuantity(std::string_view text) {
  BASALT_ASSIGN_OR_RETURN(const Quantity quantity, Quantity::Parse(text));
  return quantity.Text();
}

}  // namespace basalt::kube
