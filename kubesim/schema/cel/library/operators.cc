#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>

#include "common/base/status_macros.h"
#include "kubesim/schema/cel/library/functions.h"

namespace basalt::kubesim::cel {
namespace {

using Result = absl::StatusOr<Value>;

constexpr std::string_view kIntOverflow = "integer overflow";
constexpr std::string_view kUintOverflow = "unsigned integer overflow";

Result Checked(bool overflow, int64_t result) {
  if (overflow) return EvalError(kIntOverflow);
  return Value::Int(result);
}
Result Checked(bool overflow, uint64_t result) {
  if (overflow) return EvalError(kUintOverflow);
  return Value::Of(result);
}

// The first and the last second that a timestamp may have: the years 1 to 9999.
Result Moment(absl::Time time) {
  if (time < absl::FromUnixSeconds(-62135596800) || time > absl::FromUnixSeconds(253402300800) - absl::Nanoseconds(1)) {
    return EvalError("timestamp overflow");
  }
  return Value::Of(Timestamp{time});
}

Result SumOfTimes(const Value& a, const Value& b, int64_t sign) {
  const auto* at = a.As<Timestamp>();
  const auto* ad = a.As<Duration>();
  const auto* bt = b.As<Timestamp>();
  const auto* bd = b.As<Duration>();
  if (at != nullptr && bd != nullptr) return Moment(at->time + sign * absl::Nanoseconds(bd->nanos));
  if (ad != nullptr && bt != nullptr && sign > 0) return Moment(bt->time + absl::Nanoseconds(ad->nanos));
  int64_t nanos = 0;
  if (at != nullptr && bt != nullptr && sign < 0) {
    const absl::Duration difference = at->time - bt->time;
    if (difference > absl::Nanoseconds(INT64_MAX) || difference < absl::Nanoseconds(INT64_MIN)) {
      return EvalError(kIntOverflow);
    }
    return Value::Of(Duration{absl::ToInt64Nanoseconds(difference)});
  }
  if (ad == nullptr || bd == nullptr) return NoSuchOverload();
  const bool overflow = sign > 0 ? __builtin_add_overflow(ad->nanos, bd->nanos, &nanos)
                                 : __builtin_sub_overflow(ad->nanos, bd->nanos, &nanos);
  if (overflow) return EvalError(kIntOverflow);
  return Value::Of(Duration{nanos});
}

Result Add(const Args& args, Budget& budget) {
  const Value& a = args[0];
  const Value& b = args[1];
  if (const auto* x = a.As<int64_t>(); x != nullptr && b.As<int64_t>() != nullptr) {
    int64_t sum = 0;
    const bool overflow = __builtin_add_overflow(*x, *b.As<int64_t>(), &sum);
    return Checked(overflow, sum);
  }
  if (const auto* x = a.As<uint64_t>(); x != nullptr && b.As<uint64_t>() != nullptr) {
    uint64_t sum = 0;
    const bool overflow = __builtin_add_overflow(*x, *b.As<uint64_t>(), &sum);
    return Checked(overflow, sum);
  }
  if (const auto* x = a.As<double>(); x != nullptr && b.As<double>() != nullptr) return Value::Of(*x + *b.As<double>());
  if (const auto* x = a.As<std::string>(); x != nullptr && b.As<std::string>() != nullptr) {
    BASALT_RETURN_IF_ERROR(budget.SpendOnText(x->size() + b.As<std::string>()->size()));
    return Value::Text(*x + *b.As<std::string>());
  }
  if (const auto* x = a.As<Bytes>(); x != nullptr && b.As<Bytes>() != nullptr) {
    BASALT_RETURN_IF_ERROR(budget.SpendOnText(x->data.size() + b.As<Bytes>()->data.size()));
    return Value::Of(Bytes{x->data + b.As<Bytes>()->data});
  }
  if (a.IsList() && b.IsList()) return ListsJoined(a, b, budget);
  return SumOfTimes(a, b, 1);
}

Result Subtract(const Args& args, Budget&) {
  const Value& a = args[0];
  const Value& b = args[1];
  if (const auto* x = a.As<int64_t>(); x != nullptr && b.As<int64_t>() != nullptr) {
    int64_t difference = 0;
    const bool overflow = __builtin_sub_overflow(*x, *b.As<int64_t>(), &difference);
    return Checked(overflow, difference);
  }
  if (const auto* x = a.As<uint64_t>(); x != nullptr && b.As<uint64_t>() != nullptr) {
    uint64_t difference = 0;
    const bool overflow = __builtin_sub_overflow(*x, *b.As<uint64_t>(), &difference);
    return Checked(overflow, difference);
  }
  if (const auto* x = a.As<double>(); x != nullptr && b.As<double>() != nullptr) return Value::Of(*x - *b.As<double>());
  return SumOfTimes(a, b, -1);
}

Result Multiply(const Args& args, Budget&) {
  const Value& a = args[0];
  const Value& b = args[1];
  if (const auto* x = a.As<int64_t>(); x != nullptr && b.As<int64_t>() != nullptr) {
    int64_t product = 0;
    const bool overflow = __builtin_mul_overflow(*x, *b.As<int64_t>(), &product);
    return Checked(overflow, product);
  }
  if (const auto* x = a.As<uint64_t>(); x != nullptr && b.As<uint64_t>() != nullptr) {
    uint64_t product = 0;
    const bool overflow = __builtin_mul_overflow(*x, *b.As<uint64_t>(), &product);
    return Checked(overflow, product);
  }
  if (const auto* x = a.As<double>(); x != nullptr && b.As<double>() != nullptr) return Value::Of(*x * *b.As<double>());
  return NoSuchOverload();
}

Result Quotient(const Args& args, bool rest) {
  const Value& a = args[0];
  const Value& b = args[1];
  const std::string_view by_zero = rest ? "modulus by zero" : "division by zero";
  if (const auto* x = a.As<int64_t>(); x != nullptr && b.As<int64_t>() != nullptr) {
    const int64_t y = *b.As<int64_t>();
    if (y == 0) return EvalError(by_zero);
    if (*x == INT64_MIN && y == -1) return EvalError(kIntOverflow);
    return Value::Int(rest ? *x % y : *x / y);
  }
  if (const auto* x = a.As<uint64_t>(); x != nullptr && b.As<uint64_t>() != nullptr) {
    const uint64_t y = *b.As<uint64_t>();
    if (y == 0) return EvalError(by_zero);
    return Value::Of(rest ? *x % y : *x / y);
  }
  const auto* x = a.As<double>();
  if (rest || x == nullptr || b.As<double>() == nullptr) return NoSuchOverload();
  return Value::Of(*x / *b.As<double>());
}

Result Negate(const Args& args, Budget&) {
  if (const auto* x = args[0].As<int64_t>()) {
    if (*x == INT64_MIN) return EvalError(kIntOverflow);
    return Value::Int(-*x);
  }
  if (const auto* x = args[0].As<double>()) return Value::Of(-*x);
  return NoSuchOverload();
}

Result Not(const Args& args, Budget&) {
  if (args[0].As<bool>() == nullptr) return NoSuchOverload();
  return Value::Bool(!args[0].IsTrue());
}

Result IsEqual(const Args& args, Budget& budget, bool wanted) {
  int64_t looks = budget.left() + 1;
  const int64_t before = looks;
  const bool equal = Equal(args[0], args[1], &looks);
  BASALT_RETURN_IF_ERROR(budget.Spend(before - looks - 1));
  return Value::Bool(equal == wanted);
}

template <typename Judge>
Result Ordered(const Args& args, Judge judge) {
  BASALT_ASSIGN_OR_RETURN(const int order, Compare(args[0], args[1]));
  return Value::Bool(judge(order));
}

Result In(const Args& args, Budget& budget) {
  BASALT_RETURN_IF_ERROR(budget.Spend(static_cast<int64_t>(args[1].Size())));
  if (args[1].IsMap()) {
    Value space;
    BASALT_ASSIGN_OR_RETURN(const Value* found, args[1].FindEntry(args[0], &space));
    return Value::Bool(found != nullptr);
  }
  if (!args[1].IsList()) return NoSuchOverload();
  for (size_t i = 0; i < args[1].Size(); ++i) {
    BASALT_ASSIGN_OR_RETURN(const Value item, args[1].At(i));
    if (Equal(item, args[0], nullptr)) return Value::Bool(true);
  }
  return Value::Bool(false);
}

std::string KeyText(const Value& key) {
  if (const auto* text = key.As<std::string>()) return *text;
  if (const auto* number = key.As<int64_t>()) return fmt::to_string(*number);
  if (const auto* number = key.As<uint64_t>()) return fmt::to_string(*number);
  if (const auto* number = key.As<double>()) return DoubleText(*number);
  if (const auto* flag = key.As<bool>()) return *flag ? "true" : "false";
  return key.TypeName();
}

// Nothing where the index is outside of the list.
absl::StatusOr<std::optional<size_t>> ListIndex(const Value& list, const Value& index) {
  double number = 0;
  if (const auto* i = index.As<int64_t>()) {
    number = static_cast<double>(*i);
  } else if (const auto* u = index.As<uint64_t>()) {
    number = static_cast<double>(*u);
  } else if (const auto* d = index.As<double>()) {
    number = *d;
    if (std::floor(number) != number)
      return EvalError(fmt::format("unsupported index value {} in list", KeyText(index)));
  } else {
    return EvalError(fmt::format("unsupported index type '{}' in list", index.TypeName()));
  }
  if (number < 0 || number >= static_cast<double>(list.Size())) return std::optional<size_t>();
  return std::optional<size_t>(static_cast<size_t>(number));
}

Result IndexInto(const Value& container, const Value& key, bool optional) {
  if (container.IsList()) {
    BASALT_ASSIGN_OR_RETURN(const std::optional<size_t> at, ListIndex(container, key));
    if (!at) {
      if (optional) return Value::None();
      return EvalError(fmt::format("index out of bounds: {}", KeyText(key)));
    }
    BASALT_ASSIGN_OR_RETURN(Value item, container.At(*at));
    return optional ? Value::Some(std::move(item)) : std::move(item);
  }
  Value space;
  absl::StatusOr<const Value*> found(static_cast<const Value*>(nullptr));
  if (container.IsMap()) {
    found = container.FindEntry(key, &space);
  } else if (container.IsObject() && key.As<std::string>() != nullptr) {
    found = container.FindField(*key.As<std::string>(), &space);
  }
  if (!found.ok()) return found.status();
  if (*found == nullptr) {
    if (optional) return Value::None();
    return EvalError(fmt::format("no such key: {}", KeyText(key)));
  }
  return optional ? Value::Some(**found) : **found;
}

Result Index(const Args& args, bool optional) {
  const auto* wrapped = args[0].As<OptionalValue>();
  if (wrapped == nullptr) return IndexInto(args[0], args[1], optional);
  if (wrapped->value == nullptr) return Value::None();
  return IndexInto(*wrapped->value, args[1], true);
}

}  // namespace

const std::vector<NamedFunction>& OperatorFunctions() {
  static const auto& functions = *new std::vector<NamedFunction>({
      {"_+_", Add},
      {"_-_", Subtract},
      {"_*_", Multiply},
      {"_/_", [](const Args& args, Budget&) { return Quotient(args, false); }},
      {"_%_", [](const Args& args, Budget&) { return Quotient(args, true); }},
      {"-_", Negate},
      {"!_", Not},
      {"_==_", [](const Args& args, Budget& budget) { return IsEqual(args, budget, true); }},
      {"_!=_", [](const Args& args, Budget& budget) { return IsEqual(args, budget, false); }},
      {"_<_", [](const Args& args, Budget&) { return Ordered(args, [](int order) { return order < 0; }); }},
      {"_<=_", [](const Args& args, Budget&) { return Ordered(args, [](int order) { return order <= 0; }); }},
      {"_>_", [](const Args& args, Budget&) { return Ordered(args, [](int order) { return order > 0; }); }},
      {"_>=_", [](const Args& args, Budget&) { return Ordered(args, [](int order) { return order >= 0; }); }},
      {"@in", In},
      {"_[_]", [](const Args& args, Budget&) { return Index(args, false); }},
      {"_[?_]", [](const Args& args, Budget&) { return Index(args, true); }},
  });
  return functions;
}

Function FindFunction(std::string_view name) {
  static const auto& table = *new std::map<std::string_view, Function>([] {
    std::map<std::string_view, Function> all;
    for (const auto* functions : {&OperatorFunctions(), &ConversionFunctions(), &TextFunctions(), &ListFunctions(),
                                  &TimeFunctions(), &QuantityFunctions(), &FormatFunctions(), &NetFunctions()}) {
      for (const NamedFunction& one : *functions) all.emplace(one.name, one.function);
    }
    return all;
  }());
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace basalt::kubesim::cel
