#pragma once

// Values of expressions as text, for the tables of the tests.
#include <fmt/format.h>

#include <string>

#include "common/base/status.h"
#include "kubesim/schema/cel/program.h"

namespace basalt::kubesim::cel {

inline std::string Shown(const Value& value) {
  if (value.IsNull()) return "null";
  if (const auto* flag = value.As<bool>()) return *flag ? "true" : "false";
  if (const auto* number = value.As<int64_t>()) return fmt::to_string(*number);
  if (const auto* number = value.As<uint64_t>()) return fmt::format("{}u", *number);
  if (const auto* number = value.As<double>()) return fmt::format("double {}", DoubleText(*number));
  if (const auto* text = value.As<std::string>()) return fmt::format("'{}'", *text);
  if (const auto* bytes = value.As<Bytes>()) return fmt::format("b'{}'", bytes->data);
  if (const auto* duration = value.As<Duration>()) return DurationText(*duration);
  if (const auto* time = value.As<Timestamp>()) return TimestampText(*time);
  if (const auto* type = value.As<TypeValue>()) return type->name;
  if (const auto* quantity = value.As<kube::Quantity>()) return quantity->Text();
  if (const auto* optional = value.As<OptionalValue>()) {
    return optional->value == nullptr ? "none" : fmt::format("optional({})", Shown(*optional->value));
  }
  std::string all;
  if (value.IsList()) {
    for (size_t i = 0; i < value.Size(); ++i) all += (i == 0 ? "" : ", ") + Shown(*value.At(i));
    return fmt::format("[{}]", all);
  }
  if (!value.IsMap()) return value.TypeName();
  for (const Value& key : value.Keys()) {
    Value space;
    all += (all.empty() ? "" : ", ") + Shown(key) + ": " + Shown(**value.FindEntry(key, &space));
  }
  return fmt::format("{{{}}}", all);
}

// What it gives, or "error: …", or what its compilation says.
inline std::string Computed(std::string_view source, const Variables& variables = {}, const Activation& values = {}) {
  const auto program = Program::Compile(source, variables);
  if (!program.ok()) return std::string(ToStd(program.status().message()));
  Budget budget(kCallCostLimit);
  const absl::StatusOr<Value> result = (*program)->Run(values, &budget);
  return result.ok() ? Shown(*result) : fmt::format("error: {}", ToStd(result.status().message()));
}

}  // namespace basalt::kubesim::cel
