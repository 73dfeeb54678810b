#pragma once

// Gives every part of an expression its type, and refuses what cannot have one: unknown names and fields, calls that no
// function takes. Pure.
#include <map>
#include <string>
#include <vector>

#include "kubesim/schema/cel/syntax/ast.h"

namespace basalt::kubesim::cel {

using Variables = std::map<std::string, TypePtr, std::less<>>;

struct Checked {
  TypePtr type;
  std::vector<std::string> used;  // Which of the variables occur.
};

// Resolves names of namespaces and types in `expr`. Issues are appended in the order of the text.
Checked Check(Expr& expr, const Variables& variables, std::vector<Issue>* issues);

}  // namespace basalt::kubesim::cel
