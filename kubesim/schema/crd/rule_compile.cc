#include "kubesim/schema/crd/rule_compile.h"

#include <fmt/format.h>

#include "common/base/status.h"
#include "kubesim/schema/core/field_errors.h"
#include "kubesim/schema/crd/rule_path.h"
#include "kubesim/schema/crd/rule_type.h"

namespace basalt::kubesim {
namespace {

constexpr std::string_view kTypeName = "selfType0";

std::string_view Trimmed(std::string_view text) {
  const size_t from = text.find_first_not_of(" \t\r\n");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r\n") - from + 1);
}

bool HasNewline(std::string_view text) { return text.find('\n') != std::string_view::npos; }

std::string GoText(std::string_view text) {
  std::string out;
  for (const char c : ToText(json::value(text))) {
    if (c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

// A whole rule, as the API server shows it.
std::string RuleText(const ValidationRule& rule) {
  return fmt::format(
      R"({{"Rule":{},"Message":{},"MessageExpression":{},"Reason":{},"FieldPath":{},"OptionalOldSelf":{}}})",
      GoText(rule.rule), GoText(rule.message), GoText(rule.message_expression),
      rule.reason.empty() ? "null" : GoText(rule.reason), GoText(rule.field_path),
      !rule.optional_old_self   ? "null"
      : *rule.optional_old_self ? "true"
                                : "false");
}

class RuleCompiler {
 public:
  // `types` is the node that says what the values are: another one inside of allOf, where types are left out.
  // `uncorrelated`: the path of a list above whose items have no old selves; empty where there is none.
  void Visit(SchemaNode& node, const SchemaNode& types, bool is_resource, const std::string& path,
             const std::string& uncorrelated) {
    const size_t faults = schema_errors_.size();
    for (auto& [name, child] : node.properties) {
      const auto found = types.properties.find(name);
      if (found == types.properties.end()) continue;
      VisitChild(node, *child, *found->second, fmt::format("{}.properties[{}]", path, name), uncorrelated);
    }
    if (node.items != nullptr && types.items != nullptr) {
      const bool lost = types.list_type != ListType::kMap;
      VisitChild(node, *node.items, *types.items, path + ".items", uncorrelated.empty() && lost ? path : uncorrelated);
    }
    if (node.additional != nullptr && types.additional != nullptr) {
      VisitChild(node, *node.additional, *types.additional, path + ".additionalProperties", uncorrelated);
    }
    for (size_t i = 0; i < node.all_of.size(); ++i) {
      Visit(*node.all_of[i], types, is_resource, fmt::format("{}.allOf[{}]", path, i), uncorrelated);
      node.rules_below |= node.all_of[i]->rules_below;
    }
    if (node.rules.empty()) return;
    node.rules_below = true;
    for (size_t i = 0; i < node.rules.size(); ++i) {
      CheckShape(node.rules[i], types, fmt::format("{}.x-kubernetes-validations[{}]", path, i));
    }
    if (schema_errors_.size() > faults) return;
    node.rule_type = RuleType(types, is_resource, kTypeName);
    for (size_t i = 0; i < node.rules.size(); ++i) {
      Compile(node.rules[i], node, types, fmt::format("{}.x-kubernetes-validations[{}]", path, i), uncorrelated);
    }
  }

  void Finish(std::vector<FieldError>* errors) {
    errors->insert(errors->end(), schema_errors_.begin(), schema_errors_.end());
    errors->insert(errors->end(), rule_errors_.begin(), rule_errors_.end());
  }

 private:
  void VisitChild(SchemaNode& parent, SchemaNode& child, const SchemaNode& types, const std::string& path,
                  const std::string& uncorrelated) {
    Visit(child, types, types.embedded_resource, path, uncorrelated);
    parent.rules_below |= child.rules_below;
  }

  void CheckShape(const ValidationRule& rule, const SchemaNode& types, const std::string& path) {
    const std::string_view text = Trimmed(rule.rule);
    const std::string_view message = Trimmed(rule.message);
    if (text.empty()) {
      AddRequired(&schema_errors_, path + ".rule", "rule is not specified");
    } else if (!rule.message.empty() && message.empty()) {
      AddInvalid(&schema_errors_, path + ".message", rule.message, "must be non-empty if specified");
    } else if (HasNewline(message)) {
      AddInvalid(&schema_errors_, path + ".message", rule.message, "must not contain line breaks");
    } else if (HasNewline(text) && message.empty()) {
      AddRequired(&schema_errors_, path + ".message", "message must be specified if rule contains line breaks");
    }
    if (!rule.message_expression.empty() && Trimmed(rule.message_expression).empty()) {
      AddRequired(&schema_errors_, path + ".messageExpression", "messageExpression must be non-empty if specified");
    }
    static const auto& reasons = *new std::vector<std::string_view>(
        {"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"});
    if (!rule.reason.empty() && std::find(reasons.begin(), reasons.end(), rule.reason) == reasons.end()) {
      AddUnsupported(&schema_errors_, path + ".reason", rule.reason, reasons);
    }
    if (rule.field_path.empty()) return;
    const std::string at = path + ".fieldPath";
    if (Trimmed(rule.field_path).empty()) {
      AddInvalid(&schema_errors_, at, rule.field_path, "must be non-empty if specified");
    }
    if (HasNewline(rule.field_path)) {
      AddInvalid(&schema_errors_, at, rule.field_path, "must not contain line breaks");
    }
    if (!NormalFieldPath(rule.field_path, types)) {
      AddInvalid(&schema_errors_, at, rule.field_path, "must be a valid path");
    }
  }

  void Refuse(const std::string& field, std::string_view shown, std::string_view why) {
    rule_errors_.push_back({"FieldValueInvalid", field, fmt::format("Invalid value: {}: {}", shown, why)});
  }

  void Compile(ValidationRule& rule, const SchemaNode& node, const SchemaNode& types, const std::string& path,
               const std::string& uncorrelated) {
    if (node.rule_type == nullptr) {
      rule_errors_.push_back({"InternalError", path.substr(0, path.rfind('[')),
                              "Internal error: failed to convert to declType for CEL validation rules"});
      return;
    }
    const bool optional = rule.optional_old_self.value_or(false);
    const cel::Variables variables = {{"self", node.rule_type},
                                      {"oldSelf", optional ? cel::OptionalOf(node.rule_type) : node.rule_type}};
    auto program = cel::Program::Compile(rule.rule, variables);
    if (!program.ok()) {
      Refuse(path + ".rule", RuleText(rule), ToStd(program.status().message()));
    } else if ((*program)->type().kind != cel::Kind::kBool) {
      Refuse(path + ".rule", RuleText(rule), "cel expression must evaluate to a bool");
    } else {
      rule.program = *std::move(program);
      rule.uses_old_self = rule.program->Uses("oldSelf");
      CompileMessage(rule, variables, path);
    }
    if (rule.uses_old_self && !uncorrelated.empty()) {
      Refuse(path + ".rule", GoText(rule.rule),
             fmt::format("oldSelf cannot be used on the uncorrelatable portion of the schema within {}", uncorrelated));
    } else if (!rule.uses_old_self && rule.optional_old_self) {
      Refuse(path + ".optionalOldSelf", optional ? "true" : "false", "may not be set if oldSelf is not used in rule");
    }
    if (!rule.field_path.empty()) rule.shown_path = NormalFieldPath(rule.field_path, types).value_or("");
  }

  void CompileMessage(ValidationRule& rule, const cel::Variables& variables, const std::string& path) {
    if (rule.message_expression.empty()) return;
    auto program = cel::Program::Compile(rule.message_expression, variables);
    const std::string field = path + ".messageExpression";
    if (!program.ok()) {
      Refuse(field, RuleText(rule), fmt::format("messageExpression {}", ToStd(program.status().message())));
    } else if ((*program)->type().kind != cel::Kind::kString) {
      Refuse(field, RuleText(rule), "messageExpression must evaluate to a string");
    } else {
      rule.message_program = *std::move(program);
    }
  }

  std::vector<FieldError> schema_errors_;
  std::vector<FieldError> rule_errors_;
};

}  // namespace

void CompileRules(SchemaNode& root, std::string_view path, std::vector<FieldError>* errors) {
  RuleCompiler compiler;
  compiler.Visit(root, root, /*is_resource=*/true, std::string(path), "");
  compiler.Finish(errors);
}

}  // namespace basalt::kubesim
