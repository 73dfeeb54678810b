#pragma once

// Splits an expression into tokens. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "kubesim/schema/cel/syntax/ast.h"

namespace basalt::kubesim::cel {

struct Token {
  enum class Kind { kEnd, kIdent, kInt, kUint, kDouble, kString, kBytes, kSign };

  Kind kind = Kind::kEnd;
  int pos = 0;
  std::string_view text;  // As written.
  std::string value;      // Of a string or bytes literal.
};

// The last token is kEnd. Issues are characters that start no token, and bad literals.
std::vector<Token> Tokenize(std::string_view source, std::vector<Issue>* issues);

}  // namespace basalt::kubesim::cel
