#include "kubesim/schema/cel/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "kubesim/schema/cel/library/functions.h"

namespace basalt::kubesim::cel {
namespace {

using Result = absl::StatusOr<Value>;

class Evaluator {
 public:
  Evaluator(const Activation& variables, Budget& budget) : variables_(variables), budget_(budget) {}

  Result Visit(const Expr& expr) {
    switch (expr.kind) {
      case ExprKind::kLiteral:
        return expr.literal;
      case ExprKind::kIdent:
        return Ident(expr.name);
      case ExprKind::kSelect:
        return Select(expr);
      case ExprKind::kCall:
        return Call(expr);
      case ExprKind::kList:
        return List(expr);
      case ExprKind::kMap:
        return Map(expr);
      case ExprKind::kMacro:
        return VisitMacro(expr);
    }
    return NoSuchOverload();
  }

 private:
  static bool OverBudget(const absl::Status& status) { return status.code() == absl::StatusCode::kResourceExhausted; }

  Result Ident(std::string_view name) {
    BASALT_RETURN_IF_ERROR(budget_.Spend(1));
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (scope->first == name) return scope->second;
    }
    const auto found = variables_.find(name);
    if (found == variables_.end()) return EvalError(fmt::format("no such attribute(s): {}", name));
    return found->second;
  }

  // A null status and no value: absent.
  Result Field(const Value& target, std::string_view name, bool* present) {
    Value space;
    absl::StatusOr<const Value*> found(static_cast<const Value*>(nullptr));
    if (target.IsObject()) {
      found = target.FindField(name, &space);
    } else if (target.IsMap()) {
      found = target.FindEntry(Value::Text(std::string(name)), &space);
    }
    if (!found.ok()) return found.status();
    *present = *found != nullptr;
    return *present ? **found : Value();
  }

  Result Select(const Expr& expr) {
    BASALT_ASSIGN_OR_RETURN(Value target, Visit(*expr.target));
    if (!expr.test) BASALT_RETURN_IF_ERROR(budget_.Spend(1));
    bool present = false;
    const OptionalValue* optional = target.As<OptionalValue>();
    if (optional != nullptr) {
      if (optional->value == nullptr) return expr.test ? Value::Bool(false) : Value::None();
      BASALT_ASSIGN_OR_RETURN(Value inner, Field(*optional->value, expr.name, &present));
      if (expr.test) return Value::Bool(present);
      return present ? Value::Some(std::move(inner)) : Value::None();
    }
    BASALT_ASSIGN_OR_RETURN(Value value, Field(target, expr.name, &present));
    if (expr.test) return Value::Bool(present);
    if (!present) return EvalError(fmt::format("no such key: {}", expr.name));
    return value;
  }

  // One error does not count where another term decides.
  Result Logical(const Expr& expr, bool decisive) {
    absl::Status first;
    for (const ExprPtr& arg : expr.args) {
      Result term = Visit(*arg);
      if (term.ok() && term->As<bool>() == nullptr) term = NoSuchOverload();
      if (term.ok()) {
        if (*term->As<bool>() == decisive) return Value::Bool(decisive);
        continue;
      }
      if (OverBudget(term.status())) return term;
      first.Update(term.status());
    }
    if (!first.ok()) return first;
    return Value::Bool(!decisive);
  }

  Result Conditional(const Expr& expr) {
    BASALT_ASSIGN_OR_RETURN(Value condition, Visit(*expr.args[0]));
    if (condition.As<bool>() == nullptr) return NoSuchOverload();
    return Visit(*expr.args[condition.IsTrue() ? 1 : 2]);
  }

  Result OptionalSelect(const Expr& expr) {
    BASALT_ASSIGN_OR_RETURN(Value target, Visit(*expr.args[0]));
    BASALT_RETURN_IF_ERROR(budget_.Spend(1));
    if (const OptionalValue* optional = target.As<OptionalValue>()) {
      if (optional->value == nullptr) return Value::None();
      const Value inner = *optional->value;
      target = inner;
    }
    bool present = false;
    BASALT_ASSIGN_OR_RETURN(Value value, Field(target, *expr.args[1]->literal.As<std::string>(), &present));
    return present ? Value::Some(std::move(value)) : Value::None();
  }

  // a.or(b) and a.orValue(b): b only where a has nothing.
  Result OrElse(const Expr& expr) {
    BASALT_ASSIGN_OR_RETURN(Value target, Visit(*expr.target));
    const OptionalValue* optional = target.As<OptionalValue>();
    if (optional == nullptr) return NoSuchOverload();
    if (optional->value == nullptr) return Visit(*expr.args[0]);
    if (expr.name == "or") return target;
    return Value(*optional->value);
  }

  Result Call(const Expr& expr) {
    if (expr.name == "_&&_") return Logical(expr, false);
    if (expr.name == "_||_") return Logical(expr, true);
    if (expr.name == "_?_:_") return Conditional(expr);
    if (expr.name == "_?._") return OptionalSelect(expr);
    if (expr.target != nullptr && (expr.name == "or" || expr.name == "orValue")) return OrElse(expr);
    Args args;
    if (expr.target != nullptr) {
      BASALT_ASSIGN_OR_RETURN(Value target, Visit(*expr.target));
      args.push_back(std::move(target));
    }
    for (const ExprPtr& arg : expr.args) {
      BASALT_ASSIGN_OR_RETURN(Value value, Visit(*arg));
      args.push_back(std::move(value));
    }
    BASALT_RETURN_IF_ERROR(budget_.Spend(1));
    const Function function = FindFunction(expr.name);
    if (function == nullptr) return NoSuchOverload();
    return function(args, budget_);
  }

  static bool IsConstant(const Expr& expr) {
    return std::all_of(expr.args.begin(), expr.args.end(),
                       [](const ExprPtr& arg) { return arg->kind == ExprKind::kLiteral; });
  }

  Result List(const Expr& expr) {
    if (!IsConstant(expr)) BASALT_RETURN_IF_ERROR(budget_.Spend(10));
    std::vector<Value> items;
    for (size_t i = 0; i < expr.args.size(); ++i) {
      BASALT_ASSIGN_OR_RETURN(Value item, Visit(*expr.args[i]));
      if (!expr.optional[i]) {
        items.push_back(std::move(item));
        continue;
      }
      const OptionalValue* optional = item.As<OptionalValue>();
      if (optional == nullptr) return EvalError("cannot initialize optional list element from non-optional value");
      if (optional->value != nullptr) items.push_back(*optional->value);
    }
    return Value::List(std::move(items));
  }

  Result Map(const Expr& expr) {
    if (!IsConstant(expr)) BASALT_RETURN_IF_ERROR(budget_.Spend(30));
    std::vector<std::pair<Value, Value>> entries;
    for (size_t i = 0; i + 1 < expr.args.size(); i += 2) {
      BASALT_ASSIGN_OR_RETURN(Value key, Visit(*expr.args[i]));
      BASALT_ASSIGN_OR_RETURN(Value value, Visit(*expr.args[i + 1]));
      if (expr.optional[i / 2]) {
        const OptionalValue* optional = value.As<OptionalValue>();
        if (optional == nullptr) return EvalError("cannot initialize optional entry from non-optional value");
        if (optional->value == nullptr) continue;
        const Value inner = *optional->value;
        value = inner;
      }
      BASALT_RETURN_IF_ERROR(Put(entries, std::move(key), std::move(value), true));
    }
    return Value::Map(std::move(entries));
  }

  absl::Status Put(std::vector<std::pair<Value, Value>>& entries, Value key, Value value, bool replace) {
    BASALT_RETURN_IF_ERROR(budget_.Spend(static_cast<int64_t>(entries.size() / 10)));
    const auto known = std::find_if(entries.begin(), entries.end(),
                                    [&](const auto& entry) { return Equal(entry.first, key, nullptr); });
    if (known == entries.end()) {
      entries.emplace_back(std::move(key), std::move(value));
    } else if (replace) {
      known->second = std::move(value);
    } else {
      return EvalError("insert failed: key already exists");
    }
    return absl::OkStatus();
  }

  Result VisitMacro(const Expr& expr) {
    BASALT_ASSIGN_OR_RETURN(Value range, Visit(*expr.target));
    const size_t outer = scopes_.size();
    Result result = expr.macro == Macro::kOptMap || expr.macro == Macro::kOptFlatMap ? OverOptional(expr, range)
                                                                                     : OverRange(expr, range);
    scopes_.resize(outer);
    return result;
  }

  Result OverOptional(const Expr& expr, const Value& range) {
    const OptionalValue* optional = range.As<OptionalValue>();
    if (optional == nullptr) return NoSuchOverload();
    if (optional->value == nullptr) return Value::None();
    scopes_.emplace_back(expr.vars[0], *optional->value);
    BASALT_ASSIGN_OR_RETURN(Value value, Visit(*expr.args[0]));
    return expr.macro == Macro::kOptMap ? Value::Some(std::move(value)) : std::move(value);
  }

  // What a macro gathers on its way.
  struct Gathered {
    absl::Status error;
    int64_t count = 0;
    bool decided = false;
    std::vector<Value> items;
    std::vector<std::pair<Value, Value>> entries;
    std::vector<std::pair<Value, Value>> sorted;  // Key of the order, item.
  };

  Result OverRange(const Expr& expr, const Value& range) {
    const bool is_list = range.IsList();
    if (!is_list && !range.IsMap()) {
      std::string name = range.TypeName();
      name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
      return EvalError(fmt::format("got 'types.{}', expected iterable type", name));
    }
    const std::vector<Value> keys = is_list ? std::vector<Value>() : range.Keys();
    const size_t size = range.Size();
    Gathered gathered;
    for (size_t i = 0; i < size && !gathered.decided; ++i) {
      BASALT_RETURN_IF_ERROR(budget_.Spend(2));
      const size_t outer = scopes_.size();
      Value item;
      if (is_list) {
        BASALT_ASSIGN_OR_RETURN(item, range.At(i));
        if (expr.vars.size() == 2) scopes_.emplace_back(expr.vars[0], Value::Int(static_cast<int64_t>(i)));
        scopes_.emplace_back(expr.vars.back(), item);
      } else {
        item = keys[i];
        scopes_.emplace_back(expr.vars[0], keys[i]);
        if (expr.vars.size() == 2) {
          Value space;
          BASALT_ASSIGN_OR_RETURN(const Value* found, range.FindEntry(keys[i], &space));
          scopes_.emplace_back(expr.vars[1], *found);
        }
      }
      const Value key = is_list ? Value::Int(static_cast<int64_t>(i)) : keys[i];
      const absl::Status step = Step(expr, key, item, gathered);
      scopes_.resize(outer);
      BASALT_RETURN_IF_ERROR(step);
    }
    return Finish(expr, range, std::move(gathered));
  }

  absl::StatusOr<bool> Holds(const Expr& expr) {
    BASALT_ASSIGN_OR_RETURN(Value value, Visit(expr));
    if (value.As<bool>() == nullptr) return NoSuchOverload();
    return value.IsTrue();
  }

  absl::Status Step(const Expr& expr, const Value& key, const Value& item, Gathered& gathered) {
    if (expr.macro == Macro::kAll || expr.macro == Macro::kExists) {
      const absl::StatusOr<bool> holds = Holds(*expr.args[0]);
      if (!holds.ok()) {
        if (OverBudget(holds.status())) return holds.status();
        gathered.error.Update(holds.status());
      } else {
        gathered.decided = *holds == (expr.macro == Macro::kExists);
      }
      return absl::OkStatus();
    }
    if (expr.macro == Macro::kExistsOne || expr.macro == Macro::kFilter || expr.args.size() == 2) {
      BASALT_ASSIGN_OR_RETURN(const bool holds, Holds(*expr.args[0]));
      if (!holds) return absl::OkStatus();
    }
    if (expr.macro == Macro::kExistsOne) {
      ++gathered.count;
      return absl::OkStatus();
    }
    if (expr.macro == Macro::kFilter) {
      gathered.items.push_back(item);
      return absl::OkStatus();
    }
    BASALT_ASSIGN_OR_RETURN(Value result, Visit(*expr.args.back()));
    if (expr.macro == Macro::kSortBy) {
      gathered.sorted.emplace_back(std::move(result), item);
    } else if (expr.macro == Macro::kTransformMap) {
      gathered.entries.emplace_back(key, std::move(result));
    } else if (expr.macro == Macro::kTransformMapEntry) {
      if (!result.IsMap()) return NoSuchOverload();
      for (const Value& name : result.Keys()) {
        Value space;
        BASALT_ASSIGN_OR_RETURN(const Value* value, result.FindEntry(name, &space));
        BASALT_RETURN_IF_ERROR(Put(gathered.entries, name, *value, false));
      }
    } else {
      gathered.items.push_back(std::move(result));
    }
    return absl::OkStatus();
  }

  Result Finish(const Expr& expr, const Value& range, Gathered gathered) {
    switch (expr.macro) {
      case Macro::kAll:
      case Macro::kExists:
        if (!gathered.decided && !gathered.error.ok()) return gathered.error;
        return Value::Bool(gathered.decided == (expr.macro == Macro::kExists));
      case Macro::kExistsOne:
        return Value::Bool(gathered.count == 1);
      case Macro::kTransformMap:
      case Macro::kTransformMapEntry:
        return Value::Map(std::move(gathered.entries));
      case Macro::kSortBy:
        return Sorted(std::move(gathered.sorted));
      default:
        return Value::List(std::move(gathered.items), expr.macro == Macro::kFilter ? range.list_type() : nullptr);
    }
  }

  Result Sorted(std::vector<std::pair<Value, Value>> items) {
    for (size_t i = 1; i < items.size(); ++i) {
      BASALT_ASSIGN_OR_RETURN(const int order, Compare(items[0].first, items[i].first));
      static_cast<void>(order);
    }
    BASALT_RETURN_IF_ERROR(budget_.Spend(static_cast<int64_t>(items.size()) * 4));
    std::stable_sort(items.begin(), items.end(), [](const auto& a, const auto& b) {
      const absl::StatusOr<int> order = Compare(a.first, b.first);
      return order.ok() && *order < 0;
    });
    std::vector<Value> sorted;
    for (auto& item : items) sorted.push_back(std::move(item.second));
    return Value::List(std::move(sorted));
  }

  const Activation& variables_;
  Budget& budget_;
  std::vector<std::pair<std::string, Value>> scopes_;
};

}  // namespace

absl::Status Budget::Spend(int64_t cost) {
  left_ -= cost;
  if (left_ >= 0) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kResourceExhausted, kCostExceeded);
}

absl::StatusOr<Value> Evaluate(const Expr& expr, const Activation& variables, Budget* budget) {
  return Evaluator(variables, *budget).Visit(expr);
}

}  // namespace basalt::kubesim::cel
