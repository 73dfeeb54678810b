#include "cli/view/output.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include <cstdio>

#include "common/base/excerpt.h"
#include "common/base/json.h"
#include "common/base/yaml.h"

namespace basalt::cli {

void Print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void PrintLine(std::string_view line) { Print(Printable(line) + "\n"); }

std::string FormatMessage(const google::protobuf::Message& message, std::string_view format) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.add_whitespace = format == "json";
  std::string text;
  // This fails only for text that is no valid UTF-8. No proto3 message from the wire contains such text.
  if (!google::protobuf::util::MessageToJsonString(message, &text, options).ok()) return "";
  if (format == "json") return text;
  const absl::StatusOr<json::value> value = ParseJson(text);
  return value.ok() ? ToYaml(*value) : std::string();
}

std::string FormatList(const google::protobuf::Message& message, std::string_view format) {
  const google::protobuf::FieldDescriptor& list = *message.GetDescriptor()->field(0);
  if (!list.is_repeated() || message.GetReflection()->FieldSize(message, &list) > 0) {
    return FormatMessage(message, format);
  }
  // The other fields of an empty list have no use.
  return fmt::format(fmt::runtime(format == "json" ? "{{\n \"{}\": []\n}}\n" : "{}: []\n"), list.name());
}

std::string FormatDocument(const google::protobuf::Message& message, std::string_view format) {
  return (format == "yaml" ? "---\n" : "") + FormatMessage(message, format);
}

std::string FormatLine(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(message, &text, options).ok()) return "";
  return text + "\n";
}

}  // namespace basalt::cli
