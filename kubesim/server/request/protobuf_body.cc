#include "kubesim/server/request/protobuf_body.h"

#include <fmt/format.h>

#include <map>
#include <string>

#include "absl/strings/escaping.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::kubesim {
namespace {

// Text and Flag are left out when empty, as their Go fields are; Number stands for a pointer and stays when zero.
enum class Type { kText, kTexts, kNumber, kFlag, kMessage, kTextMap, kBytesMap, kSkip };

struct Field {
  const char* name;
  Type type;
  const char* message = nullptr;
};
using Message = std::map<uint32_t, Field>;

const std::map<std::string_view, Message>& Messages() {
  static const std::map<std::string_view, Message> kMessages = {
      {"ObjectMeta",
       {{1, {"name", Type::kText}},
        {2, {"generateName", Type::kText}},
        {3, {"namespace", Type::kText}},
        {4, {"selfLink", Type::kText}},
        {5, {"uid", Type::kText}},
        {6, {"resourceVersion", Type::kText}},
        {7, {"generation", Type::kSkip}},
        {8, {"creationTimestamp", Type::kSkip}},
        {11, {"labels", Type::kTextMap}},
        {12, {"annotations", Type::kTextMap}},
        {14, {"finalizers", Type::kTexts}}}},
      {"Namespace", {{1, {"metadata", Type::kMessage, "ObjectMeta"}}, {2, {"", Type::kSkip}}, {3, {"", Type::kSkip}}}},
      {"ConfigMap",
       {{1, {"metadata", Type::kMessage, "ObjectMeta"}},
        {2, {"data", Type::kTextMap}},
        {3, {"binaryData", Type::kBytesMap}},
        {4, {"immutable", Type::kFlag}}}},
      {"Secret",
       {{1, {"metadata", Type::kMessage, "ObjectMeta"}},
        {2, {"data", Type::kBytesMap}},
        {3, {"type", Type::kText}},
        {4, {"stringData", Type::kTextMap}},
        {5, {"immutable", Type::kFlag}}}},
      {"ServiceAccount", {{1, {"metadata", Type::kMessage, "ObjectMeta"}}}},
      {"PriorityClass",
       {{1, {"metadata", Type::kMessage, "ObjectMeta"}},
        {2, {"value", Type::kNumber}},
        {3, {"globalDefault", Type::kFlag}},
        {4, {"description", Type::kText}},
        {5, {"preemptionPolicy", Type::kText}}}},
      {"Preconditions", {{1, {"uid", Type::kText}}, {2, {"resourceVersion", Type::kText}}}},
      {"DeleteOptions",
       {{1, {"gracePeriodSeconds", Type::kNumber}},
        {2, {"preconditions", Type::kMessage, "Preconditions"}},
        {3, {"orphanDependents", Type::kFlag}},
        {4, {"propagationPolicy", Type::kText}},
        {5, {"dryRun", Type::kTexts}}}},
      {"Eviction",
       {{1, {"metadata", Type::kMessage, "ObjectMeta"}}, {2, {"deleteOptions", Type::kMessage, "DeleteOptions"}}}},
  };
  return kMessages;
}

struct Item {
  uint32_t number = 0;
  uint64_t value = 0;      // Of a varint.
  std::string_view bytes;  // Of a length-delimited field.
  bool is_bytes = false;
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
  uint64_t key = 0;
  if (!ReadVarint(in, &key)) return false;
  item->number = static_cast<uint32_t>(key >> 3);
  item->is_bytes = (key & 7) == 2;
  if ((key & 7) != 0 && !item->is_bytes) return false;
  if (!ReadVarint(in, &item->value)) return false;
  if (!item->is_bytes) return true;
  if (item->value > in.size()) return false;
  item->bytes = in.substr(0, item->value);
  in.remove_prefix(item->value);
  return true;
}

absl::Status Bad() { return absl::InvalidArgumentError("the body is not in Kubernetes' protobuf format"); }

absl::Status AddToMap(json::object& object, const Field& field, std::string_view entry) {
  std::string_view key;
  std::string_view value;
  for (Item item; !entry.empty();) {
    if (!ReadItem(entry, &item)) return Bad();
    (item.number == 1 ? key : value) = item.bytes;
  }
  json::value& map = object[field.name];
  if (!map.is_object()) map = json::object();
  map.get_object()[key] =
      field.type == Type::kTextMap ? json::string(value) : json::string(absl::Base64Escape(ToAbsl(value)));
  return absl::OkStatus();
}

absl::StatusOr<json::object> Decode(std::string_view name, std::string_view in) {
  const auto message = Messages().find(name);
  if (message == Messages().end()) {
    return MakeStatus(absl::StatusCode::kUnimplemented, fmt::format("{} is not known in protobuf", name));
  }
  json::object out;
  for (Item item; !in.empty();) {
    if (!ReadItem(in, &item)) return Bad();
    const auto found = message->second.find(item.number);
    if (found == message->second.end()) {
      if (item.is_bytes && item.bytes.empty()) continue;
      return MakeStatus(absl::StatusCode::kUnimplemented,
                        fmt::format("field {} of {} is not known in protobuf", item.number, name));
    }
    const Field& field = found->second;
    switch (field.type) {
      case Type::kSkip:
        break;
      case Type::kText:
        if (!item.bytes.empty()) out[field.name] = json::string(item.bytes);
        break;
      case Type::kFlag:
        if (item.value != 0) out[field.name] = true;
        break;
      case Type::kNumber:
        out[field.name] = static_cast<int64_t>(item.value);
        break;
      case Type::kTextMap:
      case Type::kBytesMap:
        BASALT_RETURN_IF_ERROR(AddToMap(out, field, item.bytes));
        break;
      case Type::kTexts: {
        json::value& list = out[field.name];
        if (!list.is_array()) list = json::array();
        list.get_array().emplace_back(json::string(item.bytes));
        break;
      }
      case Type::kMessage: {
        BASALT_ASSIGN_OR_RETURN(json::object inner, Decode(field.message, item.bytes));
        if (!inner.empty()) out[field.name] = std::move(inner);
        break;
      }
    }
  }
  return out;
}

}  // namespace

absl::StatusOr<json::value> ParseProtobufBody(std::string_view body) {
  constexpr std::string_view kMagic("k8s\0", 4);
  if (!body.starts_with(kMagic)) return Bad();
  body.remove_prefix(kMagic.size());
  std::string_view api_version;
  std::string_view kind;
  std::string_view raw;
  for (Item item; !body.empty();) {
    if (!ReadItem(body, &item)) return Bad();
    if (item.number == 2) raw = item.bytes;
    if (item.number != 1) continue;
    std::string_view type = item.bytes;
    for (Item part; !type.empty();) {
      if (!ReadItem(type, &part)) return Bad();
      (part.number == 1 ? api_version : kind) = part.bytes;
    }
  }
  BASALT_ASSIGN_OR_RETURN(json::object object, Decode(kind, raw));
  object["apiVersion"] = json::string(api_version);
  object["kind"] = json::string(kind);
  return object;
}

}  // namespace basalt::kubesim
