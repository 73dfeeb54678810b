#include "kubesim/schema/cel/value/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/escaping.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::kubesim::cel {
namespace {

std::string_view View(json::string_view text) { return {text.data(), text.size()}; }

absl::StatusOr<Value> JsonNumber(const json::value& json, bool as_double) {
  if (as_double) return Value::Of(json.to_number<double>());
  if (json.is_int64()) return Value::Int(json.get_int64());
  if (json.is_double() && std::floor(json.get_double()) == json.get_double() && std::abs(json.get_double()) < 9.2e18) {
    return Value::Int(static_cast<int64_t>(json.get_double()));
  }
  return EvalError("invalid data, expected int");
}

absl::StatusOr<Value> JsonText(std::string_view text, const Type& type) {
  switch (type.kind) {
    case Kind::kBytes: {
      std::string data;
      if (!absl::Base64Unescape(ToAbsl(text), &data)) {
        return EvalError(fmt::format("Invalid byte formatted string {}: illegal base64 data", text));
      }
      return Value::Of(Bytes{std::move(data)});
    }
    case Kind::kDuration: {
      const absl::StatusOr<Duration> parsed = ParseDuration(text);
      if (!parsed.ok()) return EvalError(fmt::format("Invalid duration {}", text));
      return Value::Of(*parsed);
    }
    case Kind::kTimestamp: {
      const absl::StatusOr<Timestamp> parsed =
          ParseTimestamp(type.date_only ? fmt::format("{}T00:00:00Z", text) : std::string(text));
      if (!parsed.ok()) return EvalError(fmt::format("Invalid date-time formatted string {}", text));
      return Value::Of(*parsed);
    }
    default:
      return Value::Text(std::string(text));
  }
}

}  // namespace

absl::Status NoSuchOverload() { return EvalError("no such overload"); }
absl::Status EvalError(std::string_view message) { return MakeStatus(absl::StatusCode::kInvalidArgument, message); }

Value Value::List(std::vector<Value> items, const Type* type) {
  auto list = std::make_shared<ListValue>();
  list->items = std::move(items);
  list->type = type;
  return Of(std::shared_ptr<const ListValue>(std::move(list)));
}

Value Value::Map(std::vector<std::pair<Value, Value>> entries) {
  auto map = std::make_shared<MapValue>();
  map->entries = std::move(entries);
  return Of(std::shared_ptr<const MapValue>(std::move(map)));
}

Value Value::Some(Value value) { return Of(OptionalValue{std::make_shared<const Value>(std::move(value))}); }

bool Value::IsNumber() const {
  return As<int64_t>() != nullptr || As<uint64_t>() != nullptr || As<double>() != nullptr;
}

bool Value::IsList() const {
  const JsonRef* ref = As<JsonRef>();
  return ref != nullptr ? ref->type->kind == Kind::kList : As<std::shared_ptr<const ListValue>>() != nullptr;
}

bool Value::IsMap() const {
  const JsonRef* ref = As<JsonRef>();
  return ref != nullptr ? ref->type->kind == Kind::kMap : As<std::shared_ptr<const MapValue>>() != nullptr;
}

bool Value::IsObject() const {
  const JsonRef* ref = As<JsonRef>();
  return ref != nullptr && ref->type->kind == Kind::kStruct;
}

size_t Value::Size() const {
  if (const auto* list = As<std::shared_ptr<const ListValue>>()) return (*list)->items.size();
  if (const auto* map = As<std::shared_ptr<const MapValue>>()) return (*map)->entries.size();
  const JsonRef* ref = As<JsonRef>();
  if (ref == nullptr) return 0;
  return ref->json->is_array() ? ref->json->get_array().size() : ref->json->get_object().size();
}

absl::StatusOr<Value> Value::At(size_t index) const {
  if (const auto* list = As<std::shared_ptr<const ListValue>>()) return (*list)->items[index];
  const JsonRef& ref = *As<JsonRef>();
  return FromJson(ref.json->get_array()[index], *ref.type->params[0]);
}

absl::StatusOr<const Value*> Value::FindEntry(const Value& key, Value* space) const {
  if (const auto* map = As<std::shared_ptr<const MapValue>>()) {
    for (const auto& [name, value] : (*map)->entries) {
      if (Equal(name, key, nullptr)) return &value;
    }
    return nullptr;
  }
  const JsonRef& ref = *As<JsonRef>();
  const std::string* text = key.As<std::string>();
  if (text == nullptr) return nullptr;
  const json::value* found = ref.json->get_object().if_contains(*text);
  if (found == nullptr) return nullptr;
  BASALT_ASSIGN_OR_RETURN(*space, FromJson(*found, *ref.type->params[1]));
  return space;
}

std::vector<Value> Value::Keys() const {
  std::vector<Value> keys;
  if (const auto* map = As<std::shared_ptr<const MapValue>>()) {
    for (const auto& entry : (*map)->entries) keys.push_back(entry.first);
  } else if (const JsonRef* ref = As<JsonRef>(); ref != nullptr && ref->json->is_object()) {
    for (const auto& member : ref->json->get_object()) keys.push_back(Text(std::string(View(member.key()))));
  }
  return keys;
}

absl::StatusOr<const Value*> Value::FindField(std::string_view name, Value* space) const {
  const JsonRef& ref = *As<JsonRef>();
  const auto field = ref.type->fields.find(name);
  if (field == ref.type->fields.end()) return nullptr;
  const json::value* found = ref.json->get_object().if_contains(field->second.json_name);
  if (found == nullptr) return nullptr;
  BASALT_ASSIGN_OR_RETURN(*space, FromJson(*found, *field->second.type));
  return space;
}

const Type* Value::list_type() const {
  if (const auto* list = As<std::shared_ptr<const ListValue>>()) return (*list)->type;
  const JsonRef* ref = As<JsonRef>();
  return ref != nullptr && ref->type->kind == Kind::kList ? ref->type : nullptr;
}

std::string Value::TypeName() const {
  struct Namer {
    std::string operator()(NullValue) { return "null_type"; }
    std::string operator()(bool) { return "bool"; }
    std::string operator()(int64_t) { return "int"; }
    std::string operator()(uint64_t) { return "uint"; }
    std::string operator()(double) { return "double"; }
    std::string operator()(const std::string&) { return "string"; }
    std::string operator()(const Bytes&) { return "bytes"; }
    std::string operator()(Duration) { return "google.protobuf.Duration"; }
    std::string operator()(Timestamp) { return "google.protobuf.Timestamp"; }
    std::string operator()(const TypeValue&) { return "type"; }
    std::string operator()(const std::shared_ptr<const ListValue>&) { return "list"; }
    std::string operator()(const std::shared_ptr<const MapValue>&) { return "map"; }
    std::string operator()(JsonRef ref) {
      return ref.type->kind == Kind::kList ? "list" : ref.type->kind == Kind::kMap ? "map" : "object";
    }
    std::string operator()(const OptionalValue&) { return "optional_type"; }
    std::string operator()(const kube::Quantity&) { return "kubernetes.Quantity"; }
    std::string operator()(const NamedFormat&) { return "kubernetes.NamedFormat"; }
    std::string operator()(const Address&) { return "net.IP"; }
    std::string operator()(const Cidr&) { return "net.CIDR"; }
    std::string operator()(const std::shared_ptr<const Url>&) { return "kubernetes.URL"; }
  };
  return std::visit(Namer{}, held_);
}

absl::StatusOr<Value> FromJson(const json::value& json, const Type& type) {
  if (json.is_null()) return Value();
  switch (type.kind) {
    case Kind::kList:
      if (!json.is_array()) return EvalError("invalid data, expected an array for the provided schema with type=array");
      return Value::Of(JsonRef{&json, &type});
    case Kind::kMap:
    case Kind::kStruct:
      if (!json.is_object()) return EvalError("invalid data, expected a map for the provided schema with type=object");
      return Value::Of(JsonRef{&json, &type});
    default:
      break;
  }
  if (json.is_bool()) return Value::Bool(json.get_bool());
  if (json.is_number()) return JsonNumber(json, type.kind == Kind::kDouble);
  if (json.is_string()) return JsonText(View(json.get_string()), type);
  return EvalError("invalid data, expected XIntOrString value to be either a string or integer");
}

}  // namespace basalt::kubesim::cel
