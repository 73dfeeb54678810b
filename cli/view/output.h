#pragma once

// Printing to standard output, and the formats -o json and -o yaml, which have every field of the protos for scripts.
#include <string>
#include <string_view>

#include "google/protobuf/message.h"

namespace basalt::cli {

// Prints to stdout and flushes it.
void Print(std::string_view text);
// Prints a line that may contain text of others: control characters are replaced.
void PrintLine(std::string_view line);

// Formats a message. `format` is "json" or "yaml". Fields are named as in the proto, enums by name; a Timestamp is in
// RFC 3339; fields without a value are left out.
std::string FormatMessage(const google::protobuf::Message& message, std::string_view format);

// Formats an answer whose first field is a list. The list is printed even if it is empty.
std::string FormatList(const google::protobuf::Message& message, std::string_view format);

// Formats one of several messages that are printed one after the other: in YAML a document of a stream.
std::string FormatDocument(const google::protobuf::Message& message, std::string_view format);

// Formats a message as JSON in one line that ends with a newline.
std::string FormatLine(const google::protobuf::Message& message);

}  // namespace basalt::cli
