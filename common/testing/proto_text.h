#pragma once

// Prints messages as text that a test may compare. Newer releases of protobuf begin the result of DebugString with a
// word that changes from process to process.
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <string>

namespace basalt::testing {

// Prints a line for each field.
inline std::string TextOf(const google::protobuf::Message& message) {
  std::string text;
  return google::protobuf::TextFormat::PrintToString(message, &text) ? text : "a message that cannot be printed";
}

// Prints all fields on one line.
inline std::string LineOf(const google::protobuf::Message& message) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string line;
  if (!printer.PrintToString(message, &line)) return "a message that cannot be printed";
  if (!line.empty()) line.pop_back();  // Removes the space behind the last field.
  return line;
}

}  // namespace basalt::testing
