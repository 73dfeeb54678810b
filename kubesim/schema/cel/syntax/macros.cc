#include <fmt/format.h>

#include <array>
#include <utility>

#include "kubesim/schema/cel/syntax/parser.h"

namespace basalt::kubesim::cel {
namespace {

struct Form {
  std::string_view name;
  Macro macro;
  size_t vars;
  size_t bodies;
};

constexpr std::array<Form, 19> kForms = {{
    {"all", Macro::kAll, 1, 1},
    {"exists", Macro::kExists, 1, 1},
    {"exists_one", Macro::kExistsOne, 1, 1},
    {"existsOne", Macro::kExistsOne, 1, 1},
    {"map", Macro::kMap, 1, 1},
    {"map", Macro::kMap, 1, 2},
    {"filter", Macro::kFilter, 1, 1},
    {"optMap", Macro::kOptMap, 1, 1},
    {"optFlatMap", Macro::kOptFlatMap, 1, 1},
    {"sortBy", Macro::kSortBy, 1, 1},
    {"all", Macro::kAll, 2, 1},
    {"exists", Macro::kExists, 2, 1},
    {"existsOne", Macro::kExistsOne, 2, 1},
    {"transformList", Macro::kTransformList, 2, 1},
    {"transformList", Macro::kTransformList, 2, 2},
    {"transformMap", Macro::kTransformMap, 2, 1},
    {"transformMap", Macro::kTransformMap, 2, 2},
    {"transformMapEntry", Macro::kTransformMapEntry, 2, 1},
    {"transformMapEntry", Macro::kTransformMapEntry, 2, 2},
}};

bool IsVariable(const Expr& expr) { return expr.kind == ExprKind::kIdent && expr.name.find('.') == std::string::npos; }

bool ExpandHas(Expr& call, Issue* issue) {
  Expr& arg = *call.args[0];
  if (arg.kind != ExprKind::kSelect || arg.test || arg.args.size() == 1) {
    *issue = {arg.pos, "invalid argument to has() macro"};
    return false;
  }
  ExprPtr select = std::move(call.args[0]);
  call.kind = ExprKind::kSelect;
  call.test = true;
  call.name = std::move(select->name);
  call.target = std::move(select->target);
  call.args.clear();
  return true;
}

}  // namespace

bool ExpandMacro(Expr& call, Issue* issue) {
  if (call.target == nullptr) {
    return call.name != "has" || call.args.size() != 1 || ExpandHas(call, issue);
  }
  for (const Form& form : kForms) {
    if (call.name != form.name || call.args.size() != form.vars + form.bodies) continue;
    for (size_t i = 0; i < form.vars; ++i) {
      if (!IsVariable(*call.args[i])) {
        *issue = {call.args[i]->pos, "argument must be a simple name"};
        return false;
      }
      if (call.args[i]->name == "__result__" || call.args[i]->name == "@result") {
        *issue = {call.args[i]->pos, "iteration variable overwrites accumulator variable"};
        return false;
      }
    }
    call.kind = ExprKind::kMacro;
    call.macro = form.macro;
    for (size_t i = 0; i < form.vars; ++i) call.vars.push_back(std::move(call.args[i]->name));
    call.args.erase(call.args.begin(), call.args.begin() + static_cast<ptrdiff_t>(form.vars));
    return true;
  }
  return true;
}

}  // namespace basalt::kubesim::cel
