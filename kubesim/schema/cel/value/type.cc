#include "kubesim/schema/cel/value/type.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace basalt::kubesim::cel {
namespace {

TypePtr Make(Kind kind, std::string_view name, std::vector<TypePtr> params) {
  auto type = std::make_shared<Type>();
  type->kind = kind;
  type->name = name;
  type->params = std::move(params);
  return type;
}

std::string_view SimpleName(Kind kind) {
  switch (kind) {
    case Kind::kDyn:
      return "dyn";
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kUint:
      return "uint";
    case Kind::kDouble:
      return "double";
    case Kind::kString:
      return "string";
    case Kind::kBytes:
      return "bytes";
    case Kind::kDuration:
      return "duration";
    case Kind::kTimestamp:
      return "timestamp";
    case Kind::kList:
      return "list";
    case Kind::kMap:
      return "map";
    case Kind::kType:
      return "type";
    case Kind::kOptional:
      return "optional_type";
    default:
      return "";
  }
}

bool TakesNull(Kind kind) {
  return kind == Kind::kStruct || kind == Kind::kOpaque || kind == Kind::kOptional || kind == Kind::kDuration ||
         kind == Kind::kTimestamp;
}

bool AssignableParam(const TypePtr& to, const TypePtr& from, Bindings* bindings) {
  const auto bound = bindings->find(to->name);
  if (bound == bindings->end()) {
    bindings->emplace(to->name, from);
    return true;
  }
  const TypePtr known = bound->second;
  if (known == FreeType()) {
    (*bindings)[to->name] = from;
    return true;
  }
  if (Assignable(known, from, bindings)) return true;
  if (!Assignable(from, known, bindings)) return false;
  (*bindings)[to->name] = from;  // A null came first.
  return true;
}

}  // namespace

TypePtr Simple(Kind kind) {
  static const auto& types = *new std::map<Kind, TypePtr>([] {
    std::map<Kind, TypePtr> all;
    for (const Kind one : {Kind::kDyn, Kind::kNull, Kind::kBool, Kind::kInt, Kind::kUint, Kind::kDouble, Kind::kString,
                           Kind::kBytes, Kind::kDuration, Kind::kTimestamp}) {
      all.emplace(one, Make(one, "", {}));
    }
    return all;
  }());
  return types.at(kind);
}

TypePtr FreeType() {
  static const TypePtr& type = *new TypePtr(Make(Kind::kDyn, "", {}));
  return type;
}

TypePtr ListOf(TypePtr item) { return Make(Kind::kList, "", {std::move(item)}); }
TypePtr MapOf(TypePtr key, TypePtr value) { return Make(Kind::kMap, "", {std::move(key), std::move(value)}); }
TypePtr OptionalOf(TypePtr of) { return Make(Kind::kOptional, "", {std::move(of)}); }
TypePtr TypeOf(TypePtr of) { return Make(Kind::kType, "", {std::move(of)}); }
TypePtr Opaque(std::string_view name) { return Make(Kind::kOpaque, name, {}); }
TypePtr Param(std::string_view name) { return Make(Kind::kParam, name, {}); }

std::string TypeText(const Type& type) {
  if (type.kind == Kind::kStruct || type.kind == Kind::kOpaque || type.kind == Kind::kParam) return type.name;
  std::string text(SimpleName(type.kind));
  if (type.params.empty()) return text;
  for (size_t i = 0; i < type.params.size(); ++i) {
    text += (i == 0 ? "(" : ", ") + TypeText(*type.params[i]);
  }
  return text + ")";
}

bool Assignable(const TypePtr& to, const TypePtr& from, Bindings* bindings) {
  if (to == from) return true;
  if (to->kind == Kind::kParam) return AssignableParam(to, from, bindings);
  if (to->kind == Kind::kDyn || from->kind == Kind::kDyn) return true;
  if (from->kind == Kind::kNull && TakesNull(to->kind)) return true;
  if (to->kind != from->kind) return false;
  if (to->kind == Kind::kStruct || to->kind == Kind::kOpaque) return to->name == from->name;
  if (to->kind == Kind::kType) return true;  // Types of any two values can be compared.
  const size_t shared = std::min(to->params.size(), from->params.size());
  for (size_t i = 0; i < shared; ++i) {
    if (!Assignable(to->params[i], from->params[i], bindings)) return false;
  }
  return true;
}

TypePtr Substitute(const TypePtr& type, const Bindings& bindings) {
  if (type->kind == Kind::kParam) {
    const auto bound = bindings.find(type->name);
    return bound == bindings.end() ? FreeType() : bound->second;
  }
  if (type->params.empty() || type->kind == Kind::kStruct) return type;
  std::vector<TypePtr> params;
  for (const TypePtr& param : type->params) params.push_back(Substitute(param, bindings));
  return Make(type->kind, type->name, std::move(params));
}

bool IsReservedWord(std::string_view word) {
  static constexpr std::array<std::string_view, 17> kWords = {
      "as",  "break", "const",     "continue", "else",   "for", "function", "if",   "import",
      "let", "loop",  "namespace", "package",  "return", "var", "void",     "while"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

std::string EscapeFieldName(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return "";
  if (IsReservedWord(name) || name == "true" || name == "false" || name == "null" || name == "in") {
    return fmt::format("__{}__", name);
  }
  std::string escaped;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '_' && i + 1 < name.size() && name[i + 1] == '_') {
      escaped += "__underscores__";
      ++i;
    } else if (c == '.') {
      escaped += "__dot__";
    } else if (c == '-') {
      escaped += "__dash__";
    } else if (c == '/') {
      escaped += "__slash__";
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_') {
      escaped += c;
    } else {
      return "";
    }
  }
  return escaped;
}

}  // namespace basalt::kubesim::cel
