#include <fmt/format.h>

#include "common/base/status_macros.h"
#include "kubesim/schema/cel/library/functions.h"

namespace basalt::kubesim::cel {
namespace {

using kube::Quantity;
using Result = absl::StatusOr<Value>;

Result Parse(const Args& args, Budget& budget) {
  const auto* text = args[0].As<std::string>();
  if (text == nullptr) return NoSuchOverload();
  BASALT_RETURN_IF_ERROR(budget.SpendOnText(text->size()));
  const absl::StatusOr<Quantity> parsed = Quantity::Parse(*text);
  if (!parsed.ok()) {
    return EvalError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  }
  return Value::Of(*parsed);
}

Result IsQuantity(const Args& args, Budget& budget) {
  const auto* text = args[0].As<std::string>();
  if (text == nullptr) return NoSuchOverload();
  BASALT_RETURN_IF_ERROR(budget.SpendOnText(text->size()));
  return Value::Bool(Quantity::Parse(*text).ok());
}

bool IsWhole(const Quantity& quantity) { return Quantity::OfInt(quantity.Value()) == quantity; }

template <typename Judge>
Result Judged(const Args& args, Judge judge) {
  const auto* a = args[0].As<Quantity>();
  const auto* b = args[1].As<Quantity>();
  if (a == nullptr || b == nullptr) return NoSuchOverload();
  return judge(*a, *b);
}

template <typename Judge>
Result OfOne(const Args& args, Judge judge) {
  const auto* quantity = args[0].As<Quantity>();
  if (quantity == nullptr) return NoSuchOverload();
  return judge(*quantity);
}

Result Sum(const Args& args, bool subtract) {
  const auto* a = args[0].As<Quantity>();
  const auto* number = args[1].As<int64_t>();
  const auto* b = args[1].As<Quantity>();
  if (a == nullptr || (b == nullptr && number == nullptr)) return NoSuchOverload();
  const Quantity other = b != nullptr ? *b : Quantity::OfInt(*number);
  return Value::Of(subtract ? *a - other : *a + other);
}

double Approximate(const Quantity& quantity) {
  if (IsWhole(quantity)) return static_cast<double>(quantity.Value());
  const Quantity nanos = quantity * 1000000000;
  return IsWhole(nanos) ? static_cast<double>(nanos.Value()) / 1e9 : static_cast<double>(quantity.Value());
}

}  // namespace

const std::vector<NamedFunction>& QuantityFunctions() {
  static const auto& functions = *new std::vector<NamedFunction>({
      {"quantity", Parse},
      {"isQuantity", IsQuantity},
      {"sign",
       [](const Args& args, Budget&) {
         return OfOne(args, [](const Quantity& q) { return Value::Int(q.IsNegative() ? -1 : q.IsZero() ? 0 : 1); });
       }},
      {"isGreaterThan",
       [](const Args& args, Budget&) {
         return Judged(args, [](const Quantity& a, const Quantity& b) { return Value::Bool(a > b); });
       }},
      {"isLessThan",
       [](const Args& args, Budget&) {
         return Judged(args, [](const Quantity& a, const Quantity& b) { return Value::Bool(a < b); });
       }},
      {"compareTo",
       [](const Args& args, Budget&) {
         return Judged(args, [](const Quantity& a, const Quantity& b) {
           return Value::Int(a < b ? -1 : a > b ? 1 : 0);
         });
       }},
      {"asInteger",
       [](const Args& args, Budget&) -> Result {
         const auto* quantity = args[0].As<Quantity>();
         if (quantity == nullptr) return NoSuchOverload();
         if (!IsWhole(*quantity)) return EvalError("cannot convert value to integer");
         return Value::Int(quantity->Value());
       }},
      {"asApproximateFloat",
       [](const Args& args, Budget&) {
         return OfOne(args, [](const Quantity& q) { return Value::Of(Approximate(q)); });
       }},
      {"isInteger", [](const Args& args,
                       Budget&) { return OfOne(args, [](const Quantity& q) { return Value::Bool(IsWhole(q)); }); }},
      {"add", [](const Args& args, Budget&) { return Sum(args, false); }},
      {"sub", [](const Args& args, Budget&) { return Sum(args, true); }},
  });
  return functions;
}

}  // namespace basalt::kubesim::cel
