#include "kubesim/server/request/protobuf_body.h"

#include <fmt/format.h>

#include <string>

#include "absl/strings/escaping.h"
#include "absl/time/time.h"
#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "kubesim/server/request/protobuf_messages.h"

namespace basalt::kubesim {
namespace {

using protobuf::Field;
using protobuf::Kind;
using protobuf::Message;
using protobuf::Shape;

enum Wire { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Item {
  uint32_t number = 0;
  uint32_t wire = kVarint;
  uint64_t value = 0;      // The value of a kVarint.
  std::string_view bytes;  // The value of any other wire type.
};

bool ReadVarint(std::string_view& in, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(in.front());
    in.remove_prefix(1);
    *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

bool ReadItem(std::string_view& in, Item* item) {
  constexpr uint64_t kMaxNumber = (1u << 29) - 1;
  uint64_t key = 0;
  if (!ReadVarint(in, &key) || (key >> 3) == 0 || (key >> 3) > kMaxNumber) return false;
  *item = {.number = static_cast<uint32_t>(key >> 3), .wire = static_cast<uint32_t>(key & 7)};
  uint64_t size = 0;
  switch (item->wire) {
    case kVarint:
      return ReadVarint(in, &item->value);
    case kBytes:
      if (!ReadVarint(in, &size)) return false;
      break;
    case kFixed64:
      size = sizeof(uint64_t);
      break;
    case kFixed32:
      size = sizeof(uint32_t);
      break;
    default:
      return false;
  }
  if (size > in.size()) return false;
  item->bytes = in.substr(0, size);
  in.remove_prefix(size);
  return true;
}

absl::Status Bad() { return absl::InvalidArgumentError("the body is not in Kubernetes' protobuf format"); }

absl::Status NotKnown(const Message& message, uint32_t number) {
  return MakeStatus(absl::StatusCode::kUnimplemented,
                    fmt::format("field {} of {} is not known in protobuf", number, message.name));
}

// Converts a text, which must be UTF-8: objects are answered in JSON, which allows no other text.
absl::StatusOr<json::value> Text(std::string_view text) {
  if (!IsUtf8(text)) return absl::InvalidArgumentError("a text in the protobuf body is not UTF-8");
  return json::value(json::string(text));
}

// Reads a message that may have the fields 1 to kCount only. The field with a number is stored in `items` at number
// - 1.
template <size_t kCount>
absl::Status ReadSmall(std::string_view in, std::string_view name, const uint32_t (&wires)[kCount],
                       Item (&items)[kCount]) {
  for (Item item; !in.empty();) {
    if (!ReadItem(in, &item)) return Bad();
    if (item.number > kCount) return NotKnown(Message{.name = name}, item.number);
    if (item.wire != wires[item.number - 1]) return Bad();
    items[item.number - 1] = item;
  }
  return absl::OkStatus();
}

absl::StatusOr<json::value> Time(std::string_view in, bool micro) {
  if (in.empty()) return json::value();
  Item items[2];
  BASALT_RETURN_IF_ERROR(ReadSmall(in, "Time", {kVarint, kVarint}, items));
  // RFC 3339 can write the years 1 to 9999 only.
  constexpr int64_t kFirst = -62135596800;
  constexpr int64_t kLast = 253402300799;
  const auto seconds = static_cast<int64_t>(items[0].value);
  if (seconds < kFirst || seconds > kLast || items[1].value > 999'999'999) return Bad();
  absl::Time time = absl::FromUnixSeconds(seconds);
  if (micro) time += absl::Nanoseconds(static_cast<int64_t>(items[1].value));
  const std::string text =
      absl::FormatTime(micro ? "%Y-%m-%dT%H:%M:%E6SZ" : "%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
  return json::value(text);
}

absl::StatusOr<json::value> IntOrString(std::string_view in) {
  Item items[3];
  BASALT_RETURN_IF_ERROR(ReadSmall(in, "IntOrString", {kVarint, kVarint, kBytes}, items));
  if (items[0].value > 1) return Bad();
  if (items[0].value == 1) return Text(items[2].bytes);
  return json::value(static_cast<int64_t>(items[1].value));
}

absl::StatusOr<json::value> Quantity(std::string_view in) {
  Item items[1];
  BASALT_RETURN_IF_ERROR(ReadSmall(in, "Quantity", {kBytes}, items));
  return Text(items[0].bytes.empty() ? "0" : items[0].bytes);
}

// Reads FieldsV1 or RawExtension, which are messages with JSON text inside.
absl::StatusOr<json::value> Raw(std::string_view in, std::string_view name) {
  Item items[1];
  BASALT_RETURN_IF_ERROR(ReadSmall(in, name, {kBytes}, items));
  if (items[0].bytes.empty()) return json::value();
  return ParseJson(items[0].bytes);
}

absl::Status DecodeInto(const Message& message, std::string_view in, json::object& out);

// Returns one value of the field. Null if the item means that there is none.
absl::StatusOr<json::value> Value(const Field& field, const Item& item) {
  switch (field.kind) {
    case Kind::kText:
    case Kind::kGone:
      return Text(item.bytes);
    case Kind::kBytes:
      return json::value(json::string(absl::Base64Escape(ToAbsl(item.bytes))));
    case Kind::kFlag:
      return json::value(item.value != 0);
    case Kind::kInt:
      return json::value(static_cast<int64_t>(item.value));
    case Kind::kQuantity:
      return Quantity(item.bytes);
    case Kind::kTime:
    case Kind::kMicroTime:
      return Time(item.bytes, field.kind == Kind::kMicroTime);
    case Kind::kIntOrString:
      return IntOrString(item.bytes);
    case Kind::kFieldsV1:
      return Raw(item.bytes, "FieldsV1");
    case Kind::kRawExtension:
      return Raw(item.bytes, "RawExtension");
    case Kind::kMessage:
      break;
  }
  json::object object;
  BASALT_RETURN_IF_ERROR(DecodeInto(*field.message, item.bytes, object));
  return json::value(std::move(object));
}

bool IsVarint(Kind kind) { return kind == Kind::kFlag || kind == Kind::kInt; }

absl::Status AddEntry(const Field& field, std::string_view entry, json::object& map) {
  Item items[2];
  BASALT_RETURN_IF_ERROR(ReadSmall(entry, "a map's entry", {kBytes, kBytes}, items));
  BASALT_ASSIGN_OR_RETURN(const json::value key, Text(items[0].bytes));
  BASALT_ASSIGN_OR_RETURN(map[key.get_string()], Value(field, items[1]));
  return absl::OkStatus();
}

bool IsZero(const json::value& value) {
  return value == json::value("") || value == json::value(0) || value == json::value(false);
}

absl::Status DecodeItem(const Message& message, const Item& item, json::object& out) {
  const auto found = message.fields.find(item.number);
  if (found == message.fields.end()) return NotKnown(message, item.number);
  const Field& field = found->second;
  const bool varint = field.shape != Shape::kMap && IsVarint(field.kind);
  if (item.wire != (varint ? kVarint : kBytes)) return Bad();
  if (field.is_inline) return DecodeInto(*field.message, item.bytes, out);
  if (field.kind == Kind::kGone && !item.bytes.empty()) return NotKnown(message, item.number);
  if (field.shape == Shape::kMap) {
    json::value& map = out[field.name];
    if (!map.is_object()) map = json::object();
    return AddEntry(field, item.bytes, map.get_object());
  }
  BASALT_ASSIGN_OR_RETURN(json::value value, Value(field, item));
  if (field.shape == Shape::kList) {
    json::value& list = out[field.name];
    if (!list.is_array()) list = json::array();
    list.get_array().push_back(std::move(value));
  } else if (!value.is_null() && (field.zero_shown || !IsZero(value) || field.kind == Kind::kIntOrString)) {
    out[field.name] = std::move(value);
  }
  return absl::OkStatus();
}

absl::Status DecodeInto(const Message& message, std::string_view in, json::object& out) {
  for (Item item; !in.empty();) {
    if (!ReadItem(in, &item)) return Bad();
    BASALT_RETURN_IF_ERROR(DecodeItem(message, item, out));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<json::value> ParseProtobufBody(std::string_view body) {
  constexpr std::string_view kMagic("k8s\0", 4);
  if (!body.starts_with(kMagic)) return Bad();
  body.remove_prefix(kMagic.size());
  Item envelope[4];  // Type, object, content encoding, content type.
  BASALT_RETURN_IF_ERROR(ReadSmall(body, "Unknown", {kBytes, kBytes, kBytes, kBytes}, envelope));
  Item type[2];
  BASALT_RETURN_IF_ERROR(ReadSmall(envelope[0].bytes, "TypeMeta", {kBytes, kBytes}, type));
  if (!envelope[2].bytes.empty() || !envelope[3].bytes.empty()) {
    return MakeStatus(absl::StatusCode::kUnimplemented, "another format inside protobuf is not known");
  }
  BASALT_ASSIGN_OR_RETURN(json::value api_version, Text(type[0].bytes));
  BASALT_ASSIGN_OR_RETURN(json::value kind, Text(type[1].bytes));
  const Message* message = protobuf::FindBody(type[0].bytes, type[1].bytes);
  if (message == nullptr) {
    return MakeStatus(absl::StatusCode::kUnimplemented,
                      fmt::format("{} of {} is not known in protobuf", type[1].bytes, type[0].bytes));
  }
  json::object object;
  BASALT_RETURN_IF_ERROR(DecodeInto(*message, envelope[1].bytes, object));
  object["apiVersion"] = std::move(api_version);
  object["kind"] = std::move(kind);
  return object;
}

}  // namespace basalt::kubesim
