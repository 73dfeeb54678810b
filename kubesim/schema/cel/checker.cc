#include "kubesim/schema/cel/checker.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <set>

#include "kubesim/schema/cel/signatures.h"

namespace basalt::kubesim::cel {
namespace {

TypePtr Dyn() { return Simple(Kind::kDyn); }

// "a.b.c" of a row of selections; empty where it is something else.
std::string QualifiedName(const Expr& expr) {
  if (expr.kind == ExprKind::kIdent) return expr.name;
  if (expr.kind != ExprKind::kSelect || expr.test) return "";
  const std::string target = QualifiedName(*expr.target);
  return target.empty() ? "" : target + "." + expr.name;
}

class Checker {
 public:
  Checker(const Variables& variables, std::vector<Issue>* issues) : variables_(variables), issues_(issues) {}

  Checked Run(Expr& expr) {
    const size_t before = issues_->size();
    TypePtr type = Visit(expr);
    std::stable_sort(issues_->begin() + static_cast<ptrdiff_t>(before), issues_->end(),
                     [](const Issue& a, const Issue& b) { return a.pos < b.pos; });
    return {std::move(type), {used_.begin(), used_.end()}};
  }

 private:
  TypePtr Fail(int pos, std::string message) {
    issues_->push_back({pos, std::move(message)});
    return Dyn();
  }
  TypePtr Undeclared(int pos, std::string_view name) {
    return Fail(pos, fmt::format("undeclared reference to '{}' (in container '')", name));
  }

  TypePtr Visit(Expr& expr) {
    switch (expr.kind) {
      case ExprKind::kLiteral:
        return Literal(expr.literal);
      case ExprKind::kIdent:
        return Ident(expr);
      case ExprKind::kSelect:
        return Select(expr);
      case ExprKind::kCall:
        return Call(expr);
      case ExprKind::kList:
        return List(expr);
      case ExprKind::kMap:
        return Map(expr);
      case ExprKind::kMacro:
        return VisitMacro(expr);
    }
    return Dyn();
  }

  static TypePtr Literal(const Value& value) {
    return value.IsNull() ? Simple(Kind::kNull) : FindTypeName(value.TypeName());
  }

  const TypePtr* FindVariable(std::string_view name) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (scope->first == name) return &scope->second;
    }
    const auto found = variables_.find(name);
    if (found == variables_.end()) return nullptr;
    used_.emplace(name);
    return &found->second;
  }

  bool AsTypeName(Expr& expr, std::string_view name) {
    if (name == "duration" || name == "timestamp" || FindTypeName(name) == nullptr) return false;
    expr.kind = ExprKind::kLiteral;
    expr.literal = Value::Of(TypeValue{std::string(name)});
    expr.target.reset();
    return true;
  }

  TypePtr Ident(Expr& expr) {
    if (const TypePtr* type = FindVariable(expr.name)) return *type;
    const std::string name = expr.name;
    if (AsTypeName(expr, name)) return TypeOf(FindTypeName(name));
    return Undeclared(expr.pos, name);
  }

  TypePtr Select(Expr& expr) {
    const std::string name = QualifiedName(expr);
    if (!name.empty() && FindVariable(name.substr(0, name.find('.'))) == nullptr && AsTypeName(expr, name)) {
      return TypeOf(FindTypeName(name));
    }
    const TypePtr target = Visit(*expr.target);
    const bool optional = target->kind == Kind::kOptional;
    TypePtr field = FieldOf(optional ? target->params[0] : target, expr.pos, expr.name);
    if (expr.test) return Simple(Kind::kBool);
    return optional ? OptionalOf(field) : field;
  }

  TypePtr FieldOf(const TypePtr& type, int pos, const std::string& name) {
    if (type->kind == Kind::kDyn) return Dyn();
    if (type->kind == Kind::kMap) return type->params[1];
    if (type->kind != Kind::kStruct) {
      return Fail(pos, fmt::format("type '{}' does not support field selection", TypeText(*type)));
    }
    const auto found = type->fields.find(name);
    if (found == type->fields.end()) return Fail(pos, fmt::format("undefined field '{}'", name));
    return found->second.type;
  }

  TypePtr Call(Expr& expr) {
    if (expr.name == "_&&_" || expr.name == "_||_") {
      for (const ExprPtr& arg : expr.args) Expect(*arg, Simple(Kind::kBool));
      return Simple(Kind::kBool);
    }
    if (expr.name == "_?._") {
      const TypePtr target = Visit(*expr.args[0]);
      const bool optional = target->kind == Kind::kOptional;
      return OptionalOf(
          FieldOf(optional ? target->params[0] : target, expr.pos, *expr.args[1]->literal.As<std::string>()));
    }
    if (expr.target != nullptr) {
      const std::string space = QualifiedName(*expr.target);
      const std::string qualified = space.empty() ? "" : space + "." + expr.name;
      if (!qualified.empty() && FindSignatures(qualified) != nullptr) {
        expr.name = qualified;
        expr.target.reset();
      }
    }
    std::vector<TypePtr> args;
    if (expr.target != nullptr) args.push_back(Visit(*expr.target));
    const bool format = expr.target != nullptr && expr.name == "format";
    formatted_ += format ? 1 : 0;
    for (const ExprPtr& arg : expr.args) args.push_back(Visit(*arg));
    formatted_ -= format ? 1 : 0;
    const std::vector<Signature>* signatures = FindSignatures(expr.name);
    if (signatures == nullptr) return Undeclared(expr.pos, expr.name);
    TypePtr result = Resolve(*signatures, expr.target != nullptr, args);
    if (result == nullptr) return Fail(expr.pos, NoOverload(expr, args));
    CheckLiteral(expr);
    return result;
  }

  // Null where none takes the arguments; dyn where several do and give different things.
  static TypePtr Resolve(const std::vector<Signature>& signatures, bool member, const std::vector<TypePtr>& args) {
    TypePtr result;
    for (const Signature& one : signatures) {
      if (one.member != member || one.args.size() != args.size()) continue;
      Bindings bindings;
      bool fits = true;
      for (size_t i = 0; i < args.size() && fits; ++i) fits = Assignable(one.args[i], args[i], &bindings);
      if (!fits) continue;
      TypePtr this_result = Substitute(one.result, bindings);
      if (result == nullptr) {
        result = std::move(this_result);
      } else if (TypeText(*result) != TypeText(*this_result)) {
        return Dyn();
      }
    }
    return result;
  }

  static std::string NoOverload(const Expr& expr, const std::vector<TypePtr>& args) {
    std::string text;
    for (size_t i = 0; i < args.size(); ++i) {
      const bool receiver = expr.target != nullptr && i == 0;
      if (receiver) {
        text = TypeText(*args[0]) + ".(";
        continue;
      }
      if (!text.empty() && text.back() != '(') text += ", ";
      text += TypeText(*args[i]);
    }
    if (expr.target == nullptr) text = "(" + text;
    return fmt::format("found no matching overload for '{}' applied to '{})'", expr.name, text);
  }

  // What a literal says wrongly is known before any object is.
  void CheckLiteral(const Expr& call) {
    if (call.args.empty() || call.args.back()->kind != ExprKind::kLiteral) return;
    const Expr& arg = *call.args.back();
    const std::string* text = arg.literal.As<std::string>();
    if (const int64_t* number = arg.literal.As<int64_t>()) {
      const bool out_of_range = *number < -62135596800 || *number > 253402300799;
      if (call.name != "duration" && (call.name != "timestamp" || !out_of_range)) return;
      Fail(arg.pos, fmt::format("invalid {} argument", call.name));
    }
    if (text == nullptr) return;
    const bool bad = (call.name == "duration" && !ParseDuration(*text).ok()) ||
                     (call.name == "timestamp" && !ParseTimestamp(*text).ok()) ||
                     (call.name == "matches" && !RE2(*text, RE2::Quiet).ok());
    if (bad) Fail(arg.pos, fmt::format("invalid {} argument", call.name));
  }

  void Expect(Expr& expr, const TypePtr& wanted) {
    const TypePtr found = Visit(expr);
    Bindings bindings;
    if (Assignable(wanted, found, &bindings)) return;
    Fail(expr.pos, fmt::format("expected type '{}' but found '{}'", TypeText(*wanted), TypeText(*found)));
  }

  // The items of a literal are of one type, but for what is to be formatted. Where they are not, it is one of dyn.
  struct Common {
    TypePtr first;
    TypePtr type;
  };

  void Join(Common& common, Expr& item, bool optional) {
    TypePtr type = Visit(item);
    if (optional) {
      if (type->kind != Kind::kOptional && type->kind != Kind::kDyn) {
        Fail(item.pos, fmt::format("expected type 'optional_type({0})' but found '{0}'", TypeText(*type)));
        return;
      }
      type = type->kind == Kind::kDyn ? type : type->params[0];
    }
    if (common.type == nullptr || common.type == FreeType()) {
      common = {type, type};
      return;
    }
    if (type == FreeType()) return;
    Bindings bindings;
    const bool one_is_dyn = (common.first->kind == Kind::kDyn) != (type->kind == Kind::kDyn);
    if (!one_is_dyn && Assignable(common.first, type, &bindings)) return;
    common.type = Dyn();
    if (formatted_ > 0) return;
    Fail(item.pos, fmt::format("expected type '{}' but found '{}'", TypeText(*common.first), TypeText(*type)));
  }

  TypePtr List(Expr& expr) {
    Common item;
    for (size_t i = 0; i < expr.args.size(); ++i) Join(item, *expr.args[i], expr.optional[i]);
    return ListOf(item.type == nullptr ? FreeType() : item.type);
  }

  TypePtr Map(Expr& expr) {
    Common key;
    Common value;
    for (size_t i = 0; i + 1 < expr.args.size(); i += 2) {
      Join(key, *expr.args[i], false);
      Join(value, *expr.args[i + 1], expr.optional[i / 2]);
    }
    return key.type == nullptr ? MapOf(FreeType(), FreeType())
                               : MapOf(key.type, value.type == nullptr ? Dyn() : value.type);
  }

  // The types of a macro's variables over this range.
  std::vector<TypePtr> VariableTypes(const Expr& expr, const TypePtr& range) {
    const bool two = expr.vars.size() == 2;
    if (expr.macro == Macro::kOptMap || expr.macro == Macro::kOptFlatMap) {
      if (range->kind == Kind::kOptional) return {range->params[0]};
      if (range->kind != Kind::kDyn) {
        Fail(expr.pos, fmt::format("found no matching overload for 'hasValue' applied to '{}.()'", TypeText(*range)));
      }
      return {Dyn()};
    }
    if (range->kind == Kind::kList) {
      return two ? std::vector<TypePtr>{Simple(Kind::kInt), range->params[0]} : std::vector<TypePtr>{range->params[0]};
    }
    if (range->kind == Kind::kMap) {
      return two ? std::vector<TypePtr>{range->params[0], range->params[1]} : std::vector<TypePtr>{range->params[0]};
    }
    if (range->kind != Kind::kDyn) {
      Fail(expr.target->pos,
           fmt::format("expression of type '{}' cannot be range of a comprehension (must be list, map, or dynamic)",
                       TypeText(*range)));
    }
    return {Dyn(), Dyn()};
  }

  TypePtr VisitMacro(Expr& expr) {
    const TypePtr range = Visit(*expr.target);
    const std::vector<TypePtr> types = VariableTypes(expr, range);
    const size_t outer = scopes_.size();
    for (size_t i = 0; i < expr.vars.size(); ++i) scopes_.emplace_back(expr.vars[i], types[i]);
    TypePtr result = MacroResult(expr, range);
    scopes_.resize(outer);
    return result;
  }

  TypePtr MacroResult(Expr& expr, const TypePtr& range) {
    if (expr.args.size() == 2) Expect(*expr.args[0], Simple(Kind::kBool));
    Expr& body = *expr.args.back();
    switch (expr.macro) {
      case Macro::kAll:
      case Macro::kExists:
      case Macro::kExistsOne:
        Expect(body, Simple(Kind::kBool));
        return Simple(Kind::kBool);
      case Macro::kFilter:
        Expect(body, Simple(Kind::kBool));
        return range->kind == Kind::kMap ? ListOf(range->params[0]) : range;
      case Macro::kMap:
      case Macro::kTransformList:
        return ListOf(Visit(body));
      case Macro::kTransformMap:
        return MapOf(range->kind == Kind::kMap    ? range->params[0]
                     : range->kind == Kind::kList ? Simple(Kind::kInt)
                                                  : Dyn(),
                     Visit(body));
      case Macro::kTransformMapEntry:
        return Visit(body);
      case Macro::kOptMap:
        return OptionalOf(Visit(body));
      case Macro::kOptFlatMap:
        return Visit(body);
      case Macro::kSortBy:
        Visit(body);
        return range;
    }
    return Dyn();
  }

  const Variables& variables_;
  std::vector<Issue>* issues_;
  std::vector<std::pair<std::string, TypePtr>> scopes_;
  std::set<std::string> used_;
  int formatted_ = 0;  // How many calls of format() are around.
};

}  // namespace

Checked Check(Expr& expr, const Variables& variables, std::vector<Issue>* issues) {
  return Checker(variables, issues).Run(expr);
}

}  // namespace basalt::kubesim::cel
