#include <algorithm>
#include <cmath>
#include <optional>

#include "common/base/status_macros.h"
#include "kubesim/schema/cel/value/value.h"

namespace basalt::kubesim::cel {
namespace {

int Sign(bool less, bool greater) { return less ? -1 : greater ? 1 : 0; }

// As the API server does it: the integer becomes a double, unless the double is beyond all integers of the kind.
std::optional<int> CompareDoubles(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::nullopt;
  return Sign(a<b, a> b);
}

std::optional<int> CompareNumbers(const Value& a, const Value& b) {
  const int64_t* ai = a.As<int64_t>();
  const int64_t* bi = b.As<int64_t>();
  const uint64_t* au = a.As<uint64_t>();
  const uint64_t* bu = b.As<uint64_t>();
  const double* ad = a.As<double>();
  const double* bd = b.As<double>();
  if (ai != nullptr && bi != nullptr) return Sign(*ai<*bi, *ai> * bi);
  if (au != nullptr && bu != nullptr) return Sign(*au<*bu, *au> * bu);
  if (ad != nullptr && bd != nullptr) {
    return CompareDoubles(*ad, *bd);
  }
  if (ai != nullptr && bu != nullptr) {
    if (*ai < 0) return -1;
    return Sign(static_cast<uint64_t>(*ai) < *bu, static_cast<uint64_t>(*ai) > *bu);
  }
  if (ad != nullptr) return CompareDoubles(*ad, bi != nullptr ? static_cast<double>(*bi) : static_cast<double>(*bu));
  const std::optional<int> reversed = CompareNumbers(b, a);
  return reversed ? std::optional<int>(-*reversed) : std::nullopt;
}

bool SameItems(const Value& a, const Value& b, int64_t* budget) {
  for (size_t i = 0; i < a.Size(); ++i) {
    const absl::StatusOr<Value> left = a.At(i);
    const absl::StatusOr<Value> right = b.At(i);
    if (!left.ok() || !right.ok() || !Equal(*left, *right, budget)) return false;
  }
  return true;
}

bool SameKeys(const Value& a, const Value& b, const std::vector<std::string>& names, int64_t* budget) {
  if (!a.IsObject() || !b.IsObject()) return Equal(a, b, budget);
  const auto same = [&](const std::string& name) {
    Value left_space;
    Value right_space;
    const absl::StatusOr<const Value*> left = a.FindField(EscapeFieldName(name), &left_space);
    const absl::StatusOr<const Value*> right = b.FindField(EscapeFieldName(name), &right_space);
    if (!left.ok() || !right.ok()) return false;
    if (*left == nullptr || *right == nullptr) return *left == *right;
    return Equal(**left, **right, budget);
  };
  return std::all_of(names.begin(), names.end(), same);
}

bool SameUnordered(const Value& a, const Value& b, const Type& type, int64_t* budget) {
  for (size_t i = 0; i < a.Size(); ++i) {
    const absl::StatusOr<Value> item = a.At(i);
    if (!item.ok()) return false;
    bool found = false;
    for (size_t j = 0; j < b.Size() && !found; ++j) {
      const absl::StatusOr<Value> other = b.At(j);
      if (!other.ok()) return false;
      if (type.list == ListSemantics::kMap && !SameKeys(*item, *other, type.list_keys, budget)) continue;
      found = Equal(*item, *other, budget);
      if (!found && type.list == ListSemantics::kMap) return false;
    }
    if (!found) return false;
  }
  return true;
}

bool SameMaps(const Value& a, const Value& b, int64_t* budget) {
  for (const Value& key : a.Keys()) {
    Value left_space;
    Value right_space;
    const absl::StatusOr<const Value*> left = a.FindEntry(key, &left_space);
    const absl::StatusOr<const Value*> right = b.FindEntry(key, &right_space);
    if (!left.ok() || !right.ok() || *right == nullptr || !Equal(**left, **right, budget)) return false;
  }
  return true;
}

bool SameObjects(const Value& a, const Value& b, int64_t* budget) {
  const JsonRef& left = *a.As<JsonRef>();
  const JsonRef& right = *b.As<JsonRef>();
  size_t known = 0;
  for (const auto& [name, field] : left.type->fields) {
    Value left_space;
    Value right_space;
    const absl::StatusOr<const Value*> mine = a.FindField(name, &left_space);
    const absl::StatusOr<const Value*> other = b.FindField(name, &right_space);
    if (!mine.ok() || !other.ok()) return false;
    if ((*mine == nullptr) != (*other == nullptr)) return false;
    if (*mine == nullptr) continue;
    ++known;
    if (!Equal(**mine, **other, budget)) return false;
  }
  // What the schema does not show must be the same text.
  return (known == left.json->get_object().size() && known == right.json->get_object().size()) ||
         *left.json == *right.json;
}

bool SameAddress(const Address& a, const Address& b) { return a.is_v4 == b.is_v4 && a.bytes == b.bytes; }

bool EqualScalars(const Value& a, const Value& b) {
  if (const auto* x = a.As<bool>()) return b.As<bool>() != nullptr && *x == *b.As<bool>();
  if (const auto* x = a.As<std::string>()) return b.As<std::string>() != nullptr && *x == *b.As<std::string>();
  if (const auto* x = a.As<Bytes>()) return b.As<Bytes>() != nullptr && x->data == b.As<Bytes>()->data;
  if (const auto* x = a.As<Duration>()) return b.As<Duration>() != nullptr && x->nanos == b.As<Duration>()->nanos;
  if (const auto* x = a.As<Timestamp>()) return b.As<Timestamp>() != nullptr && x->time == b.As<Timestamp>()->time;
  if (const auto* x = a.As<TypeValue>()) return b.As<TypeValue>() != nullptr && x->name == b.As<TypeValue>()->name;
  if (const auto* x = a.As<NamedFormat>()) {
    return b.As<NamedFormat>() != nullptr && x->name == b.As<NamedFormat>()->name;
  }
  if (const auto* x = a.As<kube::Quantity>()) {
    return b.As<kube::Quantity>() != nullptr && *x == *b.As<kube::Quantity>();
  }
  if (const auto* x = a.As<Address>()) return b.As<Address>() != nullptr && SameAddress(*x, *b.As<Address>());
  if (const auto* x = a.As<Cidr>()) {
    const auto* y = b.As<Cidr>();
    return y != nullptr && x->bits == y->bits && SameAddress(x->address, y->address);
  }
  if (const auto* x = a.As<std::shared_ptr<const Url>>()) {
    const auto* y = b.As<std::shared_ptr<const Url>>();
    return y != nullptr && (*x)->scheme == (*y)->scheme && (*x)->host == (*y)->host && (*x)->path == (*y)->path &&
           (*x)->query == (*y)->query;
  }
  return false;
}

}  // namespace

bool Equal(const Value& a, const Value& b, int64_t* budget) {
  if (budget != nullptr && --*budget < 0) return false;
  if (a.IsNull() || b.IsNull()) return a.IsNull() && b.IsNull();
  if (a.IsNumber() && b.IsNumber()) {
    const std::optional<int> order = CompareNumbers(a, b);
    return order && *order == 0;
  }
  if (a.IsList() && b.IsList()) {
    if (a.Size() != b.Size()) return false;
    const Type* type = a.list_type();
    if (type == nullptr || type->list == ListSemantics::kAtomic) return SameItems(a, b, budget);
    return SameUnordered(a, b, *type, budget);
  }
  if (a.IsMap() && b.IsMap()) return a.Size() == b.Size() && SameMaps(a, b, budget);
  if (a.IsObject() && b.IsObject()) return SameObjects(a, b, budget);
  if (const auto* x = a.As<OptionalValue>()) {
    const auto* y = b.As<OptionalValue>();
    if (y == nullptr) return false;
    if (x->value == nullptr || y->value == nullptr) return x->value == y->value;
    return Equal(*x->value, *y->value, budget);
  }
  return EqualScalars(a, b);
}

absl::StatusOr<int> Compare(const Value& a, const Value& b) {
  if (a.IsNumber() && b.IsNumber()) {
    const std::optional<int> order = CompareNumbers(a, b);
    if (!order) return EvalError("NaN values cannot be ordered");
    return *order;
  }
  const auto of = [](const auto* x, const auto* y) -> absl::StatusOr<int> {
    if (y == nullptr) return NoSuchOverload();
    return Sign(*x < *y, *y < *x);
  };
  if (const auto* x = a.As<bool>()) return of(x, b.As<bool>());
  if (const auto* x = a.As<std::string>()) return of(x, b.As<std::string>());
  if (const auto* x = a.As<Bytes>()) {
    return b.As<Bytes>() == nullptr ? NoSuchOverload() : of(&x->data, &b.As<Bytes>()->data);
  }
  if (const auto* x = a.As<Duration>()) {
    return b.As<Duration>() == nullptr ? NoSuchOverload() : of(&x->nanos, &b.As<Duration>()->nanos);
  }
  if (const auto* x = a.As<Timestamp>()) {
    return b.As<Timestamp>() == nullptr ? NoSuchOverload() : of(&x->time, &b.As<Timestamp>()->time);
  }
  return NoSuchOverload();
}

}  // namespace basalt::kubesim::cel
