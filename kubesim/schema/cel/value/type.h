#pragma once

// The types of the expression language (CEL): what a checker computes and how a JSON value is seen through a structural
// schema. Immutable once built and shared; any thread may read.
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace basalt::kubesim::cel {

enum class Kind {
  kDyn,
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kDuration,
  kTimestamp,
  kList,
  kMap,
  kStruct,
  kType,
  kOptional,
  kOpaque,  // Named: a quantity, an address, …
  kParam,   // A variable of a function's signature.
};

// What makes two items of a list the same: x-kubernetes-list-type.
enum class ListSemantics { kAtomic, kSet, kMap };

struct Type;
using TypePtr = std::shared_ptr<const Type>;

struct Field {
  std::string json_name;
  TypePtr type;
};

struct Type {
  Kind kind = Kind::kDyn;
  std::string name;                                  // Of a struct, an opaque type or a parameter.
  std::vector<TypePtr> params;                       // list: item; map: key, value; optional and type: one.
  std::map<std::string, Field, std::less<>> fields;  // By the escaped name.
  ListSemantics list = ListSemantics::kAtomic;
  std::vector<std::string> list_keys;
  bool date_only = false;  // A timestamp that is written as a day.
};

TypePtr Simple(Kind kind);
// Of the items of an empty list: dyn that goes with anything.
TypePtr FreeType();
TypePtr ListOf(TypePtr item);
TypePtr MapOf(TypePtr key, TypePtr value);
TypePtr OptionalOf(TypePtr of);
TypePtr TypeOf(TypePtr of);
TypePtr Opaque(std::string_view name);
TypePtr Param(std::string_view name);

// As the API server prints it: "list(int)".
std::string TypeText(const Type& type);

using Bindings = std::map<std::string, TypePtr, std::less<>>;

// Whether a value of type `from` may stand where `to` is wanted. Parameters in `to` are bound on the way.
bool Assignable(const TypePtr& to, const TypePtr& from, Bindings* bindings);
// With its parameters replaced; an unbound one is free.
TypePtr Substitute(const TypePtr& type, const Bindings& bindings);

// The name by which an expression selects a property; empty where it cannot be selected.
std::string EscapeFieldName(std::string_view name);
bool IsReservedWord(std::string_view word);

}  // namespace basalt::kubesim::cel
