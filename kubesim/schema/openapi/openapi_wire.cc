// The protobuf form of an OpenAPI v2 document: messages of package openapi.v2, with the fields that clients read.
#include <fmt/format.h>

#include "kubesim/schema/openapi/openapi.h"

namespace basalt::kubesim {
namespace {

// Field numbers of the published messages.
namespace document {
constexpr int kSwagger = 1, kInfo = 2, kPaths = 8, kDefinitions = 9;
}
namespace info {
constexpr int kTitle = 1, kVersion = 2;
}
namespace named {
constexpr int kName = 1, kValue = 2;
}
namespace any {
constexpr int kYaml = 2;
}
namespace paths {
constexpr int kPath = 2;
}
namespace path_item {
constexpr int kGet = 2, kPut = 3, kPost = 4, kDelete = 5, kPatch = 8;
}
namespace operation {
constexpr int kOperationId = 5, kConsumes = 7, kParameters = 8, kResponses = 9, kExtension = 13;
}
namespace query {
constexpr int kIn = 2, kName = 4, kType = 6, kUniqueItems = 20;
}
namespace schema {
constexpr int kFormat = 2, kDescription = 4, kRequired = 19, kAdditional = 21, kType = 22, kItems = 23,
              kProperties = 25, kExtension = 31;
}

// Appends the fields of one message. Nested messages are built first and appended as bytes.
class Message {
 public:
  void Bytes(int number, std::string_view bytes) {
    Varint(static_cast<uint64_t>(number) << 3 | 2);
    Varint(bytes.size());
    out_ += bytes;
  }
  void Text(int number, const json::value* text) {
    if (text != nullptr && text->is_string()) Bytes(number, {text->get_string().data(), text->get_string().size()});
  }
  void Bool(int number, bool value) {
    Varint(static_cast<uint64_t>(number) << 3);
    Varint(value ? 1 : 0);
  }
  void Texts(int number, const json::value* list) {
    if (list == nullptr || !list->is_array()) return;
    for (const json::value& item : list->get_array()) Text(number, &item);
  }
  const std::string& bytes() const { return out_; }

 private:
  void Varint(uint64_t value) {
    while (value >= 128) {
      out_ += static_cast<char>(value | 128);
      value >>= 7;
    }
    out_ += static_cast<char>(value);
  }

  std::string out_;
};

std::string_view View(json::string_view text) { return {text.data(), text.size()}; }

std::string Named(std::string_view name, const std::string& value) {
  Message message;
  message.Bytes(named::kName, name);
  message.Bytes(named::kValue, value);
  return message.bytes();
}

std::string Wrap(int number, const std::string& inner) {
  Message message;
  message.Bytes(number, inner);
  return message.bytes();
}

// Adds members "x-…" as named YAML texts. JSON is valid YAML.
void AddExtensions(const json::value& value, int number, Message& message) {
  for (const auto& member : value.get_object()) {
    if (!member.key().starts_with("x-")) continue;
    message.Bytes(number, Named(View(member.key()), Wrap(any::kYaml, ToText(member.value()))));
  }
}

std::string EncodeSchema(const json::value& value) {
  Message message;
  if (!value.is_object()) return message.bytes();
  message.Text(schema::kFormat, Find(value, "format"));
  message.Text(schema::kDescription, Find(value, "description"));
  message.Texts(schema::kRequired, Find(value, "required"));
  if (const json::value* additional = Find(value, "additionalProperties")) {
    message.Bytes(schema::kAdditional, Wrap(1, EncodeSchema(*additional)));
  }
  if (const json::value* type = Find(value, "type"); type != nullptr && type->is_string()) {
    message.Bytes(schema::kType, Wrap(1, std::string(type->get_string())));
  }
  if (const json::value* items = Find(value, "items")) message.Bytes(schema::kItems, Wrap(1, EncodeSchema(*items)));
  if (const json::value* properties = Find(value, "properties"); properties != nullptr && properties->is_object()) {
    Message children;
    for (const auto& member : properties->get_object()) {
      children.Bytes(1, Named(View(member.key()), EncodeSchema(member.value())));
    }
    message.Bytes(schema::kProperties, children.bytes());
  }
  AddExtensions(value, schema::kExtension, message);
  return message.bytes();
}

std::string EncodeParameter(const json::value& value) {
  Message parameter;
  parameter.Text(query::kIn, Find(value, "in"));
  parameter.Text(query::kName, Find(value, "name"));
  parameter.Text(query::kType, Find(value, "type"));
  parameter.Bool(query::kUniqueItems, true);
  // The fields are ParametersItem.parameter, Parameter.non_body_parameter, NonBodyParameter.query_parameter_sub_schema.
  return Wrap(1, Wrap(2, Wrap(3, parameter.bytes())));
}

std::string EncodeOperation(const json::value& value) {
  Message message;
  message.Text(operation::kOperationId, Find(value, "operationId"));
  message.Texts(operation::kConsumes, Find(value, "consumes"));
  if (const json::value* parameters = Find(value, "parameters"); parameters != nullptr && parameters->is_array()) {
    for (const json::value& parameter : parameters->get_array()) {
      message.Bytes(operation::kParameters, EncodeParameter(parameter));
    }
  }
  Message response;
  response.Bytes(1, "OK");
  message.Bytes(operation::kResponses, Wrap(1, Named("200", Wrap(1, response.bytes()))));
  AddExtensions(value, operation::kExtension, message);
  return message.bytes();
}

std::string EncodePath(const json::value& value) {
  Message message;
  const auto add = [&](std::string_view verb, int number) {
    if (const json::value* found = Find(value, verb)) message.Bytes(number, EncodeOperation(*found));
  };
  add("get", path_item::kGet);
  add("put", path_item::kPut);
  add("post", path_item::kPost);
  add("delete", path_item::kDelete);
  add("patch", path_item::kPatch);
  return message.bytes();
}

}  // namespace

std::string EncodeOpenApi(const json::value& source) {
  Message message;
  message.Text(document::kSwagger, Find(source, "swagger"));
  Message about;
  about.Text(info::kTitle, FindPath(source, {"info", "title"}));
  about.Text(info::kVersion, FindPath(source, {"info", "version"}));
  message.Bytes(document::kInfo, about.bytes());
  Message all_paths;
  if (const json::value* found = Find(source, "paths"); found != nullptr && found->is_object()) {
    for (const auto& member : found->get_object()) {
      all_paths.Bytes(paths::kPath, Named(View(member.key()), EncodePath(member.value())));
    }
  }
  message.Bytes(document::kPaths, all_paths.bytes());
  Message definitions;
  if (const json::value* found = Find(source, "definitions"); found != nullptr && found->is_object()) {
    for (const auto& member : found->get_object()) {
      definitions.Bytes(1, Named(View(member.key()), EncodeSchema(member.value())));
    }
  }
  message.Bytes(document::kDefinitions, definitions.bytes());
  return message.bytes();
}

}  // namespace basalt::kubesim
