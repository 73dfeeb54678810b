#pragma once

// Which functions and operators the language offers to the rules of a definition, and for which types: the API server's
// environment of 1.36. Built once, immutable.
#include <string_view>
#include <vector>

#include "kubesim/schema/cel/value/type.h"

namespace basalt::kubesim::cel {

struct Signature {
  bool member = false;  // The first argument stands before the dot.
  std::vector<TypePtr> args;
  TypePtr result;
};

// Null for a name that no function has. Operators are named "_+_", functions of a namespace "sets.contains".
const std::vector<Signature>* FindSignatures(std::string_view function);

// The type that a type's name stands for: "int", "net.IP"; null for other names.
TypePtr FindTypeName(std::string_view name);

}  // namespace basalt::kubesim::cel
