#pragma once

// What Kubernetes' protobuf messages hold: the numbers and JSON names of their fields, as the public API fixes them.
// Constant tables behind an index built on first use; any thread.
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace basalt::kubesim::protobuf {

// A row of a table: a message and its fields, "NUMBER NAME KIND" each, separated by ", ".
//   KIND  text, bytes, flag, int, a message's name, or one of the types with a JSON form of their own: Quantity, Time,
//         MicroTime, IntOrString, FieldsV1, RawExtension. "gone": a text that newer releases lack; empty is passed
//         over, anything else refused.
//   NAME  "." for a message whose members stand in the outer object.
//   Behind KIND: "*" a list, "{}" a map from text, "?" a pointer and "!" a required value. Those two are shown even
//         when zero; any other text, flag or int only when it is not.
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
  const Message* message = nullptr;  // Of kMessage.
};
struct Message {
  std::string_view name;
  std::map<uint32_t, Field> fields;
};

// Null when a body of that type is not known.
const Message* FindBody(std::string_view api_version, std::string_view kind);

// What is not well formed in the tables: a row that cannot be read is left out, so its field is refused. For a test.
const std::vector<std::string>& TableFaults();

// The tables.
std::span<const MessageRow> MetaMessages();
std::span<const MessageRow> VolumeMessages();
std::span<const MessageRow> PodMessages();
std::span<const MessageRow> CoreMessages();
std::span<const MessageRow> WorkloadMessages();

}  // namespace basalt::kubesim::protobuf
