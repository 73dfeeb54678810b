#pragma once

// What goes to standard output; -o json and -o yaml: the protos themselves, so that scripts see every field.
#include <string>
#include <string_view>

#include "google/protobuf/message.h"

namespace basalt::cli {

// To stdout, at once.
void Print(std::string_view text);
// A line in which words of others stand.
void PrintLine(std::string_view line);

// `format` is "json" or "yaml". Field names as in the proto, enums by name, a Timestamp as RFC 3339, fields
// without a value left out.
std::string FormatMessage(const google::protobuf::Message& message, std::string_view format);

// The same of an answer that is a list: it stands there when it is empty, too.
std::string FormatList(const google::protobuf::Message& message, std::string_view format);

// One of several that are printed after each other: in YAML a document of a stream.
std::string FormatDocument(const google::protobuf::Message& message, std::string_view format);

// As JSON in one line, with its end.
std::string FormatLine(const google::protobuf::Message& message);

}  // namespace basalt::cli
