#include <fmt/format.h>

#include <algorithm>

#include "common/base/status_macros.h"
#include "kubesim/schema/cel/library/functions.h"

namespace basalt::kubesim::cel {
namespace {

using Result = absl::StatusOr<Value>;
using Items = absl::StatusOr<std::vector<Value>>;

Items All(const Value& list, Budget& budget) {
  if (!list.IsList()) return NoSuchOverload();
  BASALT_RETURN_IF_ERROR(budget.Spend(static_cast<int64_t>(list.Size())));
  std::vector<Value> items;
  items.reserve(list.Size());
  for (size_t i = 0; i < list.Size(); ++i) {
    BASALT_ASSIGN_OR_RETURN(Value item, list.At(i));
    items.push_back(std::move(item));
  }
  return items;
}

Result IsSorted(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const std::vector<Value> items, All(args[0], budget));
  for (size_t i = 1; i < items.size(); ++i) {
    BASALT_ASSIGN_OR_RETURN(const int order, Compare(items[i - 1], items[i]));
    if (order > 0) return Value::Bool(false);
  }
  return Value::Bool(true);
}

Result Sum(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const std::vector<Value> items, All(args[0], budget));
  if (items.empty()) return Value::Int(0);
  const Function add = FindFunction("_+_");
  Value sum = items[0];
  if (!sum.IsNumber() && sum.As<Duration>() == nullptr) return NoSuchOverload();
  for (size_t i = 1; i < items.size(); ++i) {
    BASALT_ASSIGN_OR_RETURN(sum, add({sum, items[i]}, budget));
  }
  return sum;
}

Result Extreme(const Args& args, Budget& budget, std::string_view name, int wanted) {
  BASALT_ASSIGN_OR_RETURN(const std::vector<Value> items, All(args[0], budget));
  if (items.empty()) return EvalError(fmt::format("{} called on empty list", name));
  const Value* best = items.data();
  for (const Value& item : items) {
    BASALT_ASSIGN_OR_RETURN(const int order, Compare(item, *best));
    if (order == wanted) best = &item;
  }
  return *best;
}

Result First(const Args& args, bool last) {
  if (!args[0].IsList()) return NoSuchOverload();
  if (args[0].Size() == 0) return Value::None();
  BASALT_ASSIGN_OR_RETURN(Value item, args[0].At(last ? args[0].Size() - 1 : 0));
  return Value::Some(std::move(item));
}

Result Slice(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const std::vector<Value> items, All(args[0], budget));
  const auto* from = args[1].As<int64_t>();
  const auto* to = args[2].As<int64_t>();
  if (from == nullptr || to == nullptr) return NoSuchOverload();
  const auto cannot = [&](std::string_view why) {
    return EvalError(fmt::format("cannot slice({}, {}), {}", *from, *to, why));
  };
  if (*from < 0 || *to < 0) return cannot("negative indexes not supported");
  if (*from > *to) return cannot("start index must be less than or equal to end index");
  if (*to > static_cast<int64_t>(items.size())) return cannot(fmt::format("list is length {}", items.size()));
  return Value::List({items.begin() + *from, items.begin() + *to});
}

absl::Status FlattenInto(const Value& list, int64_t depth, std::vector<Value>& out, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const std::vector<Value> items, All(list, budget));
  for (const Value& item : items) {
    if (item.IsList() && depth > 0) {
      BASALT_RETURN_IF_ERROR(FlattenInto(item, depth - 1, out, budget));
    } else {
      out.push_back(item);
    }
  }
  return absl::OkStatus();
}

Result Flatten(const Args& args, Budget& budget) {
  const auto* depth = args.size() > 1 ? args[1].As<int64_t>() : nullptr;
  if (args.size() > 1 && depth == nullptr) return NoSuchOverload();
  if (depth != nullptr && *depth < 0) return EvalError("level must be non-negative");
  std::vector<Value> out;
  BASALT_RETURN_IF_ERROR(FlattenInto(args[0], depth == nullptr ? 1 : *depth, out, budget));
  return Value::List(std::move(out));
}

Result Distinct(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(std::vector<Value> items, All(args[0], budget));
  std::vector<Value> kept;
  for (Value& item : items) {
    BASALT_RETURN_IF_ERROR(budget.Spend(static_cast<int64_t>(kept.size())));
    const bool known =
        std::any_of(kept.begin(), kept.end(), [&](const Value& one) { return Equal(one, item, nullptr); });
    if (!known) kept.push_back(std::move(item));
  }
  return Value::List(std::move(kept));
}

Result Sort(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(std::vector<Value> items, All(args[0], budget));
  for (const Value& item : items) {
    BASALT_ASSIGN_OR_RETURN(const int order, Compare(items[0], item));
    static_cast<void>(order);
  }
  std::stable_sort(items.begin(), items.end(), [](const Value& a, const Value& b) {
    const absl::StatusOr<int> order = Compare(a, b);
    return order.ok() && *order < 0;
  });
  return Value::List(std::move(items));
}

Result Reverse(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(std::vector<Value> items, All(args[0], budget));
  std::reverse(items.begin(), items.end());
  return Value::List(std::move(items));
}

Result Range(const Args& args, Budget& budget) {
  const auto* count = args[0].As<int64_t>();
  if (count == nullptr) return NoSuchOverload();
  BASALT_RETURN_IF_ERROR(budget.Spend(std::max<int64_t>(*count, 0)));
  std::vector<Value> items;
  for (int64_t i = 0; i < *count; ++i) items.push_back(Value::Int(i));
  return Value::List(std::move(items));
}

// Whether each item of `b` (or any) is among `a`.
Result Among(const Value& a, const Value& b, bool any, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const std::vector<Value> known, All(a, budget));
  BASALT_ASSIGN_OR_RETURN(const std::vector<Value> asked, All(b, budget));
  for (const Value& item : asked) {
    BASALT_RETURN_IF_ERROR(budget.Spend(static_cast<int64_t>(known.size())));
    const bool found =
        std::any_of(known.begin(), known.end(), [&](const Value& one) { return Equal(one, item, nullptr); });
    if (found == any) return Value::Bool(any);
  }
  return Value::Bool(!any);
}

Result Equivalent(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const Value forth, Among(args[0], args[1], false, budget));
  if (forth.IsFalse()) return forth;
  return Among(args[1], args[0], false, budget);
}

bool SameIdentity(const Value& a, const Value& b, const Type& type) {
  if (type.list == ListSemantics::kSet) return Equal(a, b, nullptr);
  if (!a.IsObject() || !b.IsObject()) return false;
  return std::all_of(type.list_keys.begin(), type.list_keys.end(), [&](const std::string& key) {
    Value left_space;
    Value right_space;
    const auto left = a.FindField(EscapeFieldName(key), &left_space);
    const auto right = b.FindField(EscapeFieldName(key), &right_space);
    return left.ok() && right.ok() && *left != nullptr && *right != nullptr && Equal(**left, **right, nullptr);
  });
}

}  // namespace

// Items of a list with keys take the place of those with the same ones; a set gains only what it has not.
Result ListsJoined(const Value& a, const Value& b, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(std::vector<Value> items, All(a, budget));
  BASALT_ASSIGN_OR_RETURN(std::vector<Value> added, All(b, budget));
  const Type* type = a.list_type();
  if (type == nullptr || type->list == ListSemantics::kAtomic) {
    items.insert(items.end(), std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()));
    return Value::List(std::move(items));
  }
  for (Value& item : added) {
    BASALT_RETURN_IF_ERROR(budget.Spend(static_cast<int64_t>(items.size())));
    const auto known =
        std::find_if(items.begin(), items.end(), [&](const Value& one) { return SameIdentity(one, item, *type); });
    if (known == items.end()) {
      items.push_back(std::move(item));
    } else {
      *known = std::move(item);
    }
  }
  return Value::List(std::move(items), type);
}

const std::vector<NamedFunction>& ListFunctions() {
  static const auto& functions = *new std::vector<NamedFunction>({
      {"isSorted", IsSorted},
      {"sum", Sum},
      {"min", [](const Args& args, Budget& budget) { return Extreme(args, budget, "min", -1); }},
      {"max", [](const Args& args, Budget& budget) { return Extreme(args, budget, "max", 1); }},
      {"first", [](const Args& args, Budget&) { return First(args, false); }},
      {"last", [](const Args& args, Budget&) { return First(args, true); }},
      {"slice", Slice},
      {"flatten", Flatten},
      {"distinct", Distinct},
      {"sort", Sort},
      {"reverse", Reverse},
      {"lists.range", Range},
      {"sets.contains", [](const Args& args, Budget& budget) { return Among(args[0], args[1], false, budget); }},
      {"sets.intersects", [](const Args& args, Budget& budget) { return Among(args[0], args[1], true, budget); }},
      {"sets.equivalent", Equivalent},
  });
  return functions;
}

}  // namespace basalt::kubesim::cel
