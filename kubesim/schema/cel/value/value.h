#pragma once

// A value of the expression language. Small ones are held, containers are shared and immutable. A JSON container is
// looked at in place through its schema's type: both must outlive the value.
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/json.h"
#include "common/kube/quantity.h"
#include "kubesim/schema/cel/value/type.h"

namespace basalt::kubesim::cel {

class Value;

struct NullValue {};
struct Bytes {
  std::string data;
};
struct Duration {
  int64_t nanos = 0;
};
struct Timestamp {
  absl::Time time;
};
struct TypeValue {
  std::string name;
};
struct ListValue {
  std::vector<Value> items;
  const Type* type = nullptr;  // Where items are told apart by a schema's keys.
};
struct MapValue {
  std::vector<std::pair<Value, Value>> entries;
};
struct JsonRef {
  const json::value* json = nullptr;
  const Type* type = nullptr;
};
struct OptionalValue {
  std::shared_ptr<const Value> value;  // Null: none.
};
struct NamedFormat {
  std::string name;
};
struct Address {
  bool is_v4 = false;
  std::array<uint8_t, 16> bytes{};  // The first four in use for IPv4.
};
struct Cidr {
  Address address;
  int bits = 0;
};
struct Url {
  std::string scheme, host, path, query;
};

class Value {
 public:
  using Held = std::variant<NullValue, bool, int64_t, uint64_t, double, std::string, Bytes, Duration, Timestamp,
                            TypeValue, std::shared_ptr<const ListValue>, std::shared_ptr<const MapValue>, JsonRef,
                            OptionalValue, kube::Quantity, NamedFormat, Address, Cidr, std::shared_ptr<const Url>>;

  Value() = default;
  template <typename T>
  static Value Of(T held) {
    Value value;
    value.held_ = std::move(held);
    return value;
  }
  static Value Bool(bool b) { return Of(b); }
  static Value Int(int64_t i) { return Of(i); }
  static Value Text(std::string text) { return Of(std::move(text)); }
  static Value List(std::vector<Value> items, const Type* type = nullptr);
  static Value Map(std::vector<std::pair<Value, Value>> entries);
  static Value None() { return Of(OptionalValue{}); }
  static Value Some(Value value);

  template <typename T>
  const T* As() const {
    return std::get_if<T>(&held_);
  }
  bool IsNull() const { return As<NullValue>() != nullptr; }
  bool IsTrue() const { return As<bool>() != nullptr && *As<bool>(); }
  bool IsFalse() const { return As<bool>() != nullptr && !*As<bool>(); }
  bool IsNumber() const;
  bool IsList() const;
  bool IsMap() const;     // A map of either origin, not an object with a schema's fields.
  bool IsObject() const;  // With a schema's fields.

  // Of a list, a map, or an object with fields.
  size_t Size() const;
  // A list's item; the index must be in range. Fails where the JSON does not fit its schema.
  absl::StatusOr<Value> At(size_t index) const;
  // A map's entry, by equality of keys.
  absl::StatusOr<const Value*> FindEntry(const Value& key, Value* space) const;
  // The keys of a map, or the field names of an object.
  std::vector<Value> Keys() const;
  // An object's field by its escaped name; null where absent.
  absl::StatusOr<const Value*> FindField(std::string_view name, Value* space) const;
  const Type* list_type() const;

  // What type() gives: "int", "list", "google.protobuf.Duration".
  std::string TypeName() const;

 private:
  Held held_;
};

// A JSON value as the type shows it.
absl::StatusOr<Value> FromJson(const json::value& json, const Type& type);

// Equality as == has it: numbers by value, else only within one type. `budget` counts what was looked at.
bool Equal(const Value& a, const Value& b, int64_t* budget);
// -1, 0, 1; an error where the two have no order.
absl::StatusOr<int> Compare(const Value& a, const Value& b);

absl::Status NoSuchOverload();
absl::Status EvalError(std::string_view message);

absl::StatusOr<Duration> ParseDuration(std::string_view text);
absl::StatusOr<Timestamp> ParseTimestamp(std::string_view text);
std::string DurationText(Duration duration);
std::string TimestampText(Timestamp timestamp);
std::string DoubleText(double number);
std::string AddressText(const Address& address);

}  // namespace basalt::kubesim::cel
