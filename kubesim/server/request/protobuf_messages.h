#pragma once

// The fields of Kubernetes' protobuf messages, with their numbers and JSON names, as the public API fixes them.
// Constant tables with an index that is built on first use. Any thread.
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace basalt::kubesim::protobuf {

// A row of a table: a message and its fields, "NUMBER NAME KIND" each, separated by ", ".
//   KIND  text, bytes, flag, int, a message's name, or one of the types with a JSON form of their own: Quantity, Time,
//         MicroTime, IntOrString, FieldsV1, RawExtension. "gone" is a text that newer releases lack: an empty one is
//         ignored, any other one refused.
//   NAME  "." for a message whose members stand in the outer object.
//   Behind KIND: "*" means a list, "{}" a map from text, "?" a pointer and "!" a required value. Pointers and required
//         values stand in the JSON even if they are zero; any other text, flag or int only if it is not.
struct MessageRow {
  const char* name;
  const char* fields;
};

enum class Kind {
  kText,
  kBytes,
  kFlag,
  kInt,
  kMessage,
  kQuantity,
  kTime,
  kMicroTime,
  kIntOrString,
  kFieldsV1,
  kRawExtension,
  kGone
};
enum class Shape { kOne, kList, kMap };

struct Message;
struct Field {
  std::string_view name;
  Kind kind = Kind::kText;
  Shape shape = Shape::kOne;
  bool is_inline = false;
  bool zero_shown = false;
  const Message* message = nullptr;  // The type of a kMessage.
};
struct Message {
  std::string_view name;
  std::map<uint32_t, Field> fields;
};

// Returns the message of a body of this type. Null if the type is not known.
const Message* FindBody(std::string_view api_version, std::string_view kind);

// Returns the faults in the tables, for a test. A row that cannot be read is left out, so that its field is refused.
const std::vector<std::string>& TableFaults();

// The tables of messages.
std::span<const MessageRow> MetaMessages();
std::span<const MessageRow> VolumeMessages();
std::span<const MessageRow> PodMessages();
std::span<const MessageRow> CoreMessages();
std::span<const MessageRow> WorkloadMessages();

}  // namespace basalt::kubesim::protobuf
