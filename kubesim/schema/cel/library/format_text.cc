#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "common/base/status_macros.h"
#include "kubesim/schema/cel/library/functions.h"

namespace basalt::kubesim::cel {
namespace {

using Text = absl::StatusOr<std::string>;

constexpr int kMaxPrecision = 1000;

absl::Status Unfit(std::string_view rule, const Value& value) {
  return EvalError(fmt::format("error during formatting: {}, was given {}", rule, value.TypeName()));
}

Text Shown(const Value& value, bool nested, Budget& budget, int depth);

Text ShownList(const Value& list, Budget& budget, int depth) {
  std::string out = "[";
  for (size_t i = 0; i < list.Size(); ++i) {
    BASALT_ASSIGN_OR_RETURN(const Value item, list.At(i));
    BASALT_ASSIGN_OR_RETURN(const std::string text, Shown(item, true, budget, depth + 1));
    out += (i == 0 ? "" : ", ") + text;
  }
  return out + "]";
}

Text ShownMap(const Value& map, Budget& budget, int depth) {
  std::vector<std::string> entries;
  for (const Value& key : map.Keys()) {
    Value space;
    BASALT_ASSIGN_OR_RETURN(const Value* value, map.FindEntry(key, &space));
    BASALT_ASSIGN_OR_RETURN(const std::string name, Shown(key, true, budget, depth + 1));
    BASALT_ASSIGN_OR_RETURN(const std::string text, Shown(*value, true, budget, depth + 1));
    entries.push_back(name + ":" + text);
  }
  std::sort(entries.begin(), entries.end());
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

Text Shown(const Value& value, bool nested, Budget& budget, int depth) {
  BASALT_RETURN_IF_ERROR(budget.Spend(1));
  if (depth > 100) return EvalError("nested too deep");
  if (const auto* text = value.As<std::string>()) {
    BASALT_RETURN_IF_ERROR(budget.SpendOnText(text->size()));
    return nested ? fmt::format("\"{}\"", *text) : *text;
  }
  if (const auto* flag = value.As<bool>()) return *flag ? "true" : "false";
  if (const auto* number = value.As<int64_t>()) return fmt::to_string(*number);
  if (const auto* number = value.As<uint64_t>()) return fmt::to_string(*number);
  if (const auto* number = value.As<double>()) return nested ? fmt::format("{:.6f}", *number) : DoubleText(*number);
  if (const auto* bytes = value.As<Bytes>()) return bytes->data;
  if (value.IsNull()) return "null";
  if (const auto* type = value.As<TypeValue>()) return type->name;
  if (const auto* duration = value.As<Duration>()) {
    return nested ? fmt::format("duration(\"{}\")", DurationText(*duration)) : DurationText(*duration);
  }
  if (const auto* time = value.As<Timestamp>()) {
    return nested ? fmt::format("timestamp(\"{}\")", TimestampText(*time)) : TimestampText(*time);
  }
  if (value.IsList()) return ShownList(value, budget, depth);
  if (value.IsMap()) return ShownMap(value, budget, depth);
  return Unfit(
      "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, "
      "and timestamps",
      value);
}

std::string InBase(uint64_t number, unsigned base, bool upper) {
  const std::string_view signs = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string digits;
  do {
    digits += signs[number % base];
    number /= base;
  } while (number > 0);
  return {digits.rbegin(), digits.rend()};
}

// An integer in that base, with its sign. Nothing where it is none.
std::optional<std::string> IntegerIn(const Value& value, unsigned base, bool upper) {
  if (const auto* number = value.As<uint64_t>()) return InBase(*number, base, upper);
  const auto* number = value.As<int64_t>();
  if (number == nullptr) return std::nullopt;
  if (*number >= 0) return InBase(static_cast<uint64_t>(*number), base, upper);
  return "-" + InBase(0 - static_cast<uint64_t>(*number), base, upper);
}

std::string HexOf(std::string_view data, bool upper) {
  std::string out;
  for (const char c : data) out += fmt::format(fmt::runtime(upper ? "{:02X}" : "{:02x}"), static_cast<uint8_t>(c));
  return out;
}

std::string Scientific(double number) {
  if (!std::isfinite(number)) return std::isnan(number) ? "NaN" : number > 0 ? "∞" : "-∞";
  const std::string text = fmt::format("{:.6e}", number);
  const size_t e = text.find('e');
  static constexpr std::string_view kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out = text.substr(0, e) + "×10";
  if (text[e + 1] == '-') out += "⁻";
  for (size_t i = e + 2; i < text.size(); ++i) out += kDigits[text[i] - '0'];
  return out;
}

absl::StatusOr<double> AsDouble(const Value& value, std::string_view clause) {
  if (const auto* number = value.As<double>()) return *number;
  if (const auto* number = value.As<int64_t>()) return static_cast<double>(*number);
  if (const auto* number = value.As<uint64_t>()) return static_cast<double>(*number);
  return Unfit(fmt::format("{} clause can only be used on doubles", clause), value);
}

Text Clause(char letter, int precision, const Value& value, Budget& budget) {
  switch (letter) {
    case 's':
      return Shown(value, false, budget, 0);
    case 'd': {
      const std::optional<std::string> text = IntegerIn(value, 10, false);
      if (!text) return Unfit("decimal clause can only be used on integers", value);
      return *text;
    }
    case 'f': {
      BASALT_ASSIGN_OR_RETURN(const double number, AsDouble(value, "fixed-point"));
      if (!std::isfinite(number)) return DoubleText(number);
      return fmt::format("{:.{}f}", number, precision);
    }
    case 'e': {
      BASALT_ASSIGN_OR_RETURN(const double number, AsDouble(value, "scientific"));
      return Scientific(number);
    }
    case 'b': {
      if (const auto* flag = value.As<bool>()) return *flag ? "1" : "0";
      const std::optional<std::string> text = IntegerIn(value, 2, false);
      if (!text) return Unfit("only integers and bools can be formatted as binary", value);
      return *text;
    }
    case 'o': {
      const std::optional<std::string> text = IntegerIn(value, 8, false);
      if (!text) return Unfit("octal clause can only be used on integers", value);
      return *text;
    }
    case 'x':
    case 'X': {
      const bool upper = letter == 'X';
      if (const auto* text = value.As<std::string>()) return HexOf(*text, upper);
      if (const auto* bytes = value.As<Bytes>()) return HexOf(bytes->data, upper);
      const std::optional<std::string> text = IntegerIn(value, 16, upper);
      if (!text) return Unfit("only integers, byte buffers, and strings can be formatted as hex", value);
      return *text;
    }
    default:
      return EvalError(fmt::format("could not parse formatting clause: unrecognized formatting clause \"{}\"",
                                   std::string(1, letter)));
  }
}

}  // namespace

Text FormatText(std::string_view format, const Value& list, Budget& budget) {
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    if (++i >= format.size()) return EvalError("unexpected end of string");
    if (format[i] == '%') {
      out += '%';
      continue;
    }
    if (next >= list.Size()) return EvalError(fmt::format("index {} out of range", next));
    int precision = 6;
    if (format[i] == '.') {
      const char* begin = format.data() + i + 1;
      const auto [stop, error] = std::from_chars(begin, format.data() + format.size(), precision);
      if (error != std::errc() || precision < 0 || precision > kMaxPrecision) {
        return EvalError("could not parse formatting clause: error while parsing precision");
      }
      i = static_cast<size_t>(stop - format.data());
      if (i >= format.size()) return EvalError("unexpected end of string");
    }
    BASALT_ASSIGN_OR_RETURN(const Value value, list.At(next++));
    BASALT_ASSIGN_OR_RETURN(const std::string text, Clause(format[i], precision, value, budget));
    BASALT_RETURN_IF_ERROR(budget.SpendOnText(text.size()));
    out += text;
  }
  if (next < list.Size()) {
    return EvalError(
        fmt::format("too many arguments supplied to string.format (expected {}, got {})", next, list.Size()));
  }
  return out;
}

}  // namespace basalt::kubesim::cel
