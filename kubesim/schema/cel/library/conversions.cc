#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "absl/strings/escaping.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "kubesim/schema/cel/library/functions.h"

namespace basalt::kubesim::cel {
namespace {

using Result = absl::StatusOr<Value>;

absl::Status Unconvertible(const Value& from, std::string_view to) {
  return EvalError(fmt::format("type conversion error from '{}' to '{}'", from.TypeName(), to));
}

absl::Status Unmatched(std::string_view function, const Value& from) {
  return EvalError(fmt::format("no such overload: {}({})", function, from.TypeName()));
}

template <typename Number>
bool ReadWhole(std::string_view text, Number* number) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && stop == text.data() + text.size() && !text.empty();
}

Result ToInt(const Args& args, Budget& budget) {
  const Value& from = args[0];
  if (from.As<int64_t>() != nullptr) return from;
  if (const auto* number = from.As<uint64_t>()) {
    if (*number > static_cast<uint64_t>(INT64_MAX)) return EvalError("integer overflow");
    return Value::Int(static_cast<int64_t>(*number));
  }
  if (const auto* number = from.As<double>()) {
    // The bounds themselves are refused: as doubles they are not exact.
    if (!(*number > -9223372036854775808.0 && *number < 9223372036854775808.0)) return EvalError("integer overflow");
    return Value::Int(static_cast<int64_t>(*number));
  }
  if (const auto* text = from.As<std::string>()) {
    BASALT_RETURN_IF_ERROR(budget.SpendOnText(text->size()));
    int64_t number = 0;
    if (!ReadWhole(*text, &number)) return Unconvertible(from, "int");
    return Value::Int(number);
  }
  if (const auto* time = from.As<Timestamp>()) return Value::Int(absl::ToUnixSeconds(time->time));
  if (const auto* duration = from.As<Duration>()) return Value::Int(duration->nanos);
  return Unmatched("int", from);
}

Result ToUint(const Args& args, Budget& budget) {
  const Value& from = args[0];
  if (from.As<uint64_t>() != nullptr) return from;
  if (const auto* number = from.As<int64_t>()) {
    if (*number < 0) return EvalError("unsigned integer overflow");
    return Value::Of(static_cast<uint64_t>(*number));
  }
  if (const auto* number = from.As<double>()) {
    if (!(*number >= 0 && *number < 18446744073709551616.0)) return EvalError("unsigned integer overflow");
    return Value::Of(static_cast<uint64_t>(*number));
  }
  if (const auto* text = from.As<std::string>()) {
    BASALT_RETURN_IF_ERROR(budget.SpendOnText(text->size()));
    uint64_t number = 0;
    if (text->starts_with('+') || !ReadWhole(*text, &number)) return Unconvertible(from, "uint");
    return Value::Of(number);
  }
  return Unmatched("uint", from);
}

Result ToDouble(const Args& args, Budget& budget) {
  const Value& from = args[0];
  if (from.As<double>() != nullptr) return from;
  if (const auto* number = from.As<int64_t>()) return Value::Of(static_cast<double>(*number));
  if (const auto* number = from.As<uint64_t>()) return Value::Of(static_cast<double>(*number));
  if (const auto* text = from.As<std::string>()) {
    BASALT_RETURN_IF_ERROR(budget.SpendOnText(text->size()));
    char* stop = nullptr;
    const double number = std::strtod(text->c_str(), &stop);
    const bool blank = text->empty() || std::isspace(static_cast<unsigned char>((*text)[0])) != 0;
    if (blank || stop != text->c_str() + text->size()) return Unconvertible(from, "double");
    return Value::Of(number);
  }
  return Unmatched("double", from);
}

Result ToBool(const Args& args, Budget&) {
  const Value& from = args[0];
  if (from.As<bool>() != nullptr) return from;
  const auto* text = from.As<std::string>();
  if (text == nullptr) return Unmatched("bool", from);
  for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (*text == yes) return Value::Bool(true);
  }
  for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (*text == no) return Value::Bool(false);
  }
  return Unconvertible(from, "bool");
}

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const size_t length = c < 0x80 ? 1 : (c >> 5) == 6 && c >= 0xC2 ? 2 : (c >> 4) == 14 ? 3 : (c >> 3) == 30 ? 4 : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    }
    const auto next = length > 1 ? static_cast<unsigned char>(text[i + 1]) : 0;
    const bool overlong = (c == 0xE0 && next < 0xA0) || (c == 0xF0 && next < 0x90);
    const bool outside = (c == 0xED && next > 0x9F) || (c == 0xF4 && next > 0x8F) || c > 0xF4;
    if (overlong || outside) return false;
    i += length;
  }
  return true;
}

Result ToText(const Args& args, Budget& budget) {
  const Value& from = args[0];
  if (from.As<std::string>() != nullptr) return from;
  if (const auto* flag = from.As<bool>()) return Value::Text(*flag ? "true" : "false");
  if (const auto* number = from.As<int64_t>()) return Value::Text(fmt::to_string(*number));
  if (const auto* number = from.As<uint64_t>()) return Value::Text(fmt::to_string(*number));
  if (const auto* number = from.As<double>()) return Value::Text(DoubleText(*number));
  if (const auto* bytes = from.As<Bytes>()) {
    BASALT_RETURN_IF_ERROR(budget.SpendOnText(bytes->data.size()));
    if (!IsUtf8(bytes->data)) return EvalError("invalid UTF-8 in bytes, cannot convert to string");
    return Value::Text(bytes->data);
  }
  if (const auto* time = from.As<Timestamp>()) return Value::Text(TimestampText(*time));
  if (const auto* duration = from.As<Duration>()) return Value::Text(DurationText(*duration));
  if (const auto* address = from.As<Address>()) return Value::Text(AddressText(*address));
  if (const auto* cidr = from.As<Cidr>()) {
    return Value::Text(fmt::format("{}/{}", AddressText(cidr->address), cidr->bits));
  }
  return Unmatched("string", from);
}

Result ToBytes(const Args& args, Budget& budget) {
  if (args[0].As<Bytes>() != nullptr) return args[0];
  const auto* text = args[0].As<std::string>();
  if (text == nullptr) return NoSuchOverload();
  BASALT_RETURN_IF_ERROR(budget.SpendOnText(text->size()));
  return Value::Of(Bytes{*text});
}

Result ToDuration(const Args& args, Budget&) {
  if (args[0].As<Duration>() != nullptr) return args[0];
  if (const auto* nanos = args[0].As<int64_t>()) return Value::Of(Duration{*nanos});
  const auto* text = args[0].As<std::string>();
  if (text == nullptr) return NoSuchOverload();
  const absl::StatusOr<Duration> parsed = ParseDuration(*text);
  if (!parsed.ok()) return Unconvertible(args[0], "google.protobuf.Duration");
  return Value::Of(*parsed);
}

Result ToTimestamp(const Args& args, Budget&) {
  if (args[0].As<Timestamp>() != nullptr) return args[0];
  if (const auto* seconds = args[0].As<int64_t>()) {
    if (*seconds < -62135596800 || *seconds > 253402300799) return EvalError("timestamp overflow");
    return Value::Of(Timestamp{absl::FromUnixSeconds(*seconds)});
  }
  const auto* text = args[0].As<std::string>();
  if (text == nullptr) return NoSuchOverload();
  const absl::StatusOr<Timestamp> parsed = ParseTimestamp(*text);
  if (!parsed.ok()) return Unconvertible(args[0], "google.protobuf.Timestamp");
  return Value::Of(*parsed);
}

Result Itself(const Args& args, Budget&) { return args[0]; }

Result TypeOfValue(const Args& args, Budget&) { return Value::Of(TypeValue{args[0].TypeName()}); }

Result OptionalValueOf(const Args& args, Budget&) {
  const auto* optional = args[0].As<OptionalValue>();
  if (optional == nullptr) return NoSuchOverload();
  if (optional->value == nullptr) return EvalError("optional.none() dereference");
  return *optional->value;
}

Result HasValue(const Args& args, Budget&) {
  const auto* optional = args[0].As<OptionalValue>();
  if (optional == nullptr) return NoSuchOverload();
  return Value::Bool(optional->value != nullptr);
}

bool IsZero(const Value& value) {
  if (value.IsNull() || value.IsFalse()) return true;
  if (value.IsNumber()) return Equal(value, Value::Int(0), nullptr);
  if (const auto* text = value.As<std::string>()) return text->empty();
  if (const auto* bytes = value.As<Bytes>()) return bytes->data.empty();
  if (const auto* duration = value.As<Duration>()) return duration->nanos == 0;
  if (value.IsList() || value.IsMap() || value.IsObject()) return value.Size() == 0;
  return false;
}

Result OfNonZero(const Args& args, Budget&) { return IsZero(args[0]) ? Value::None() : Value::Some(args[0]); }

Result Unwrap(const Args& args, Budget& budget) {
  if (!args[0].IsList()) return NoSuchOverload();
  BASALT_RETURN_IF_ERROR(budget.Spend(static_cast<int64_t>(args[0].Size())));
  std::vector<Value> items;
  for (size_t i = 0; i < args[0].Size(); ++i) {
    BASALT_ASSIGN_OR_RETURN(const Value item, args[0].At(i));
    const auto* optional = item.As<OptionalValue>();
    if (optional == nullptr) return NoSuchOverload();
    if (optional->value != nullptr) items.push_back(*optional->value);
  }
  return Value::List(std::move(items));
}

}  // namespace

const std::vector<NamedFunction>& ConversionFunctions() {
  static const auto& functions = *new std::vector<NamedFunction>({
      {"dyn", Itself},
      {"type", TypeOfValue},
      {"int", ToInt},
      {"uint", ToUint},
      {"double", ToDouble},
      {"bool", ToBool},
      {"string", ToText},
      {"bytes", ToBytes},
      {"duration", ToDuration},
      {"timestamp", ToTimestamp},
      {"optional.of", [](const Args& args, Budget&) -> Result { return Value::Some(args[0]); }},
      {"optional.ofNonZeroValue", OfNonZero},
      {"optional.none", [](const Args&, Budget&) -> Result { return Value::None(); }},
      {"optional.unwrap", Unwrap},
      {"unwrapOpt", Unwrap},
      {"value", OptionalValueOf},
      {"hasValue", HasValue},
  });
  return functions;
}

}  // namespace basalt::kubesim::cel
