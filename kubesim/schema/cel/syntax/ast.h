#pragma once

// The tree of an expression. Built by parser.h, annotated by the checker, read-only from then on.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kubesim/schema/cel/value/value.h"

namespace basalt::kubesim::cel {

enum class ExprKind {
  kLiteral,
  kIdent,   // name
  kSelect,  // target.name, has(target.name) with `test`
  kCall,    // name(args), or target.name(args); operators too: name "_+_"
  kList,    // args
  kMap,     // args: key, value, key, value, …
  kMacro,   // target.name(vars…, args…) that binds variables
};

enum class Macro {
  kAll,
  kExists,
  kExistsOne,
  kMap,  // args: [filter,] result
  kFilter,
  kOptMap,
  kOptFlatMap,
  kTransformList,  // args: [filter,] result
  kTransformMap,
  kTransformMapEntry,
  kSortBy,
};

struct Expr {
  ExprKind kind = ExprKind::kLiteral;
  int pos = 0;    // Byte offset, for messages.
  int depth = 1;  // Of the tree below: bounded by the parser.
  Value literal;
  std::string name;
  std::unique_ptr<Expr> target;
  std::vector<std::unique_ptr<Expr>> args;
  std::vector<bool> optional;  // Of a list's items or a map's entries: [?x], {?k: x}.
  bool test = false;
  Macro macro = Macro::kAll;
  std::vector<std::string> vars;
};

using ExprPtr = std::unique_ptr<Expr>;

// One thing that is wrong with an expression, and where.
struct Issue {
  int pos = 0;
  std::string message;
};

// "ERROR: <input>:1:5: message\n | text\n | ....^", one below the other.
std::string IssuesText(std::string_view source, const std::vector<Issue>& issues);

}  // namespace basalt::kubesim::cel
