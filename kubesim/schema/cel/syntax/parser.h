#pragma once

// Reads an expression into a tree, macros recognised. Pure; bounded: 250 levels and 100 000 bytes, as the API server.
#include <string_view>
#include <vector>

#include "kubesim/schema/cel/syntax/ast.h"

namespace basalt::kubesim::cel {

inline constexpr int kMaxExprDepth = 250;
inline constexpr size_t kMaxExprBytes = 100000;

// Null where `issues` grew.
ExprPtr Parse(std::string_view source, std::vector<Issue>* issues);

// Turns a call that is a macro into one: has(), all(), map(), … False where it has a macro's name and arguments that
// none takes; then `issue` says so. Any other call stays as it is.
bool ExpandMacro(Expr& call, Issue* issue);

}  // namespace basalt::kubesim::cel
