#include "kubesim/schema/crd/rule_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/status.h"

namespace basalt::kubesim {
namespace {

constexpr size_t kMaxMessageBytes = 5 * 1024;

std::string_view Trimmed(std::string_view text) {
  const size_t from = text.find_first_not_of(" \t\r\n");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r\n") - from + 1);
}

std::string_view ShownRule(const ValidationRule& rule) {
  return Trimmed(rule.message.empty() ? rule.rule : rule.message);
}

class RuleChecker {
 public:
  explicit RuleChecker(std::vector<FieldError>* errors) : errors_(errors) {}

  // `same`: this part, or the part around it where it has no old self of its own, is what it was.
  void Check(const SchemaNode& node, const SchemaNode& types, const json::value& value, const json::value* old,
             bool same, const std::string& path) {
    if (!node.rules_below || value.is_null() || left_ < 0) return;
    if (old != nullptr && old->is_null()) old = nullptr;
    if (old != nullptr) same = *old == value;
    CheckHere(node, types, value, old, same, path);
    for (const auto& part : node.all_of) Check(*part, types, value, old, same, path);
    if (const json::array* array = value.if_array(); array != nullptr && node.items != nullptr) {
      for (size_t i = 0; i < array->size(); ++i) {
        Check(*node.items, *types.items, (*array)[i], OldItem(old, (*array)[i], types), same,
              fmt::format("{}[{}]", path, i));
      }
    }
    if (const json::object* object = value.if_object()) CheckMembers(node, types, *object, old, same, path);
  }

 private:
  void CheckMembers(const SchemaNode& node, const SchemaNode& types, const json::object& object, const json::value* old,
                    bool same, const std::string& path) {
    for (const auto& member : object) {
      const std::string_view name(member.key().data(), member.key().size());
      const json::value* before = old == nullptr ? nullptr : Find(*old, name);
      const auto child = node.properties.find(name);
      const auto child_types = types.properties.find(name);
      if (child != node.properties.end() && child_types != types.properties.end()) {
        Check(*child->second, *child_types->second, member.value(), before, same,
              path.empty() ? std::string(name) : fmt::format("{}.{}", path, name));
      } else if (node.additional != nullptr && types.additional != nullptr) {
        Check(*node.additional, *types.additional, member.value(), before, same, fmt::format("{}[{}]", path, name));
      }
    }
  }

  void Add(std::string_view reason, std::string_view path, std::string message) {
    errors_->push_back({std::string(reason), path.empty() ? "<nil>" : std::string(path), std::move(message)});
  }
  void AddFailure(const SchemaNode& types, std::string_view path, std::string_view what) {
    Add("FieldValueInvalid", path, fmt::format("Invalid value: \"{}\": {}", TypeName(types.type), what));
  }

  // Runs a program on what is left of the budget, which it uses up.
  absl::StatusOr<cel::Value> Run(const cel::Program& program, const cel::Activation& values) {
    cel::Budget budget(cel::kCallCostLimit);
    absl::StatusOr<cel::Value> result = program.Run(values, &budget);
    left_ -= cel::kCallCostLimit - std::max<int64_t>(budget.left(), 0);
    return result;
  }

  void OutOfBudget(const SchemaNode& types, std::string_view path) {
    AddFailure(types, path,
               "validation failed due to running out of cost budget, no further validation rules will be run");
    left_ = -1;
  }

  void CheckHere(const SchemaNode& node, const SchemaNode& types, const json::value& value, const json::value* old,
                 bool same, const std::string& path) {
    if (node.rules.empty() || node.rule_type == nullptr) return;
    const absl::StatusOr<cel::Value> self = cel::FromJson(value, *node.rule_type);
    absl::StatusOr<cel::Value> old_self = cel::Value();
    if (old != nullptr) old_self = cel::FromJson(*old, *node.rule_type);
    for (const ValidationRule& rule : node.rules) {
      if (left_ < 0) return;
      if (rule.program == nullptr) continue;
      const bool optional = rule.optional_old_self.value_or(false);
      if (rule.uses_old_self && old == nullptr && !optional) continue;
      if (!self.ok() || (rule.uses_old_self && !old_self.ok())) {
        AddFailure(types, path,
                   fmt::format("{} evaluating rule: {}", ToStd((self.ok() ? old_self : self).status().message()),
                               ShownRule(rule)));
        continue;
      }
      cel::Activation values = {{"self", *self}};
      if (optional) {
        values.emplace("oldSelf", old == nullptr ? cel::Value::None() : cel::Value::Some(*old_self));
      } else if (old != nullptr) {
        values.emplace("oldSelf", *old_self);
      }
      CheckRule(rule, types, value, values, same, path);
    }
  }

  void CheckRule(const ValidationRule& rule, const SchemaNode& types, const json::value& value,
                 const cel::Activation& values, bool same, const std::string& path) {
    const absl::StatusOr<cel::Value> result = Run(*rule.program, values);
    if (result.status().code() == absl::StatusCode::kResourceExhausted) {
      AddFailure(
          types, path,
          fmt::format("'{}': no further validation rules will be run due to call cost exceeds limit for rule: {}",
                      cel::kCostExceeded, ShownRule(rule)));
      left_ = -1;
      return;
    }
    if (left_ < 0) return OutOfBudget(types, path);
    if (!result.ok()) {
      const std::string_view why = ToStd(result.status().message());
      AddFailure(types, path,
                 why.starts_with("no such overload")
                     ? fmt::format("'{}': call arguments did not match a supported operator, function or macro "
                                   "signature for rule: {}",
                                   why, ShownRule(rule))
                     : fmt::format("{} evaluating rule: {}", why, ShownRule(rule)));
      return;
    }
    if (result->IsTrue()) return;
    if (same && !rule.uses_old_self) return;
    std::string at = path;
    if (!rule.shown_path.empty()) at += (at.empty() ? "" : ".") + rule.shown_path;
    AddBroken(rule, types, value, at, MessageOf(rule, values));
  }

  std::string MessageOf(const ValidationRule& rule, const cel::Activation& values) {
    if (rule.message_program != nullptr) {
      const absl::StatusOr<cel::Value> said = Run(*rule.message_program, values);
      const std::string* text = said.ok() ? said->As<std::string>() : nullptr;
      const std::string_view message = text == nullptr ? std::string_view() : Trimmed(*text);
      const bool fit = message.size() <= kMaxMessageBytes && message.find('\n') == std::string_view::npos;
      if (!message.empty() && fit) return std::string(message);
    }
    if (!rule.message.empty()) return std::string(Trimmed(rule.message));
    return fmt::format("failed rule: {}", Trimmed(rule.rule));
  }

  // Objects and lists are not shown.
  void AddBroken(const ValidationRule& rule, const SchemaNode& types, const json::value& value, std::string_view path,
                 std::string_view message) {
    const bool hidden = types.type == SchemaNode::Type::kObject || types.type == SchemaNode::Type::kArray;
    const std::string text = value.is_double() ? fmt::format("{}", value.get_double()) : ToText(value);
    const std::string shown = hidden ? "" : ": " + text;
    if (rule.reason == "FieldValueForbidden") return Add(rule.reason, path, fmt::format("Forbidden: {}", message));
    if (rule.reason == "FieldValueRequired") return Add(rule.reason, path, fmt::format("Required value: {}", message));
    if (rule.reason == "FieldValueDuplicate") return Add(rule.reason, path, fmt::format("Duplicate value{}", shown));
    Add("FieldValueInvalid", path, fmt::format("Invalid value{}: {}", shown, message));
  }

  std::vector<FieldError>* errors_;
  int64_t left_ = cel::kRequestCostLimit;
};

}  // namespace

const json::value* OldItem(const json::value* old_list, const json::value& item, const SchemaNode& list) {
  if (old_list == nullptr || !old_list->is_array() || list.list_type != ListType::kMap) return nullptr;
  const auto same = [&](const json::value& other) {
    return std::all_of(list.list_keys.begin(), list.list_keys.end(), [&](const std::string& key) {
      const json::value* mine = Find(item, key);
      const json::value* its = Find(other, key);
      return mine != nullptr && its != nullptr && *mine == *its;
    });
  };
  const json::array& items = old_list->get_array();
  const auto found = std::find_if(items.begin(), items.end(), same);
  return found == items.end() ? nullptr : &*found;
}

void CheckRules(const SchemaNode& root, const json::value& object, const json::value* old,
                std::vector<FieldError>* errors) {
  RuleChecker(errors).Check(root, root, object, old, /*same=*/false, "");
}

}  // namespace basalt::kubesim
