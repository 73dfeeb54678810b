#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "common/base/status.h"
#include "kubesim/schema/core/field_errors.h"
#include "kubesim/schema/core/json_members.h"
#include "kubesim/schema/crd/crd.h"
#include "kubesim/schema/crd/schema_node.h"

namespace basalt::kubesim {
namespace {

using Type = SchemaNode::Type;

// The path of a value, kept on the stack. It is converted to a text only for an error.
struct Path {
  const Path* parent = nullptr;
  std::string_view name;
  size_t index = 0;
  bool is_index = false;

  std::string Text() const {
    std::string text = parent == nullptr ? "" : parent->Text();
    if (is_index) return fmt::format("{}[{}]", text, index);
    if (text.empty()) return std::string(name);
    return name.empty() ? text : fmt::format("{}.{}", text, name);
  }
};

std::string_view View(const json::string& text) { return {text.data(), text.size()}; }

bool HasType(const json::value& value, const SchemaNode& node) {
  if (node.int_or_string) return value.is_string() || IsIntegral(value);
  switch (node.type) {
    case Type::kAny:
      return true;
    case Type::kObject:
      return value.is_object();
    case Type::kArray:
      return value.is_array();
    case Type::kString:
      return value.is_string();
    case Type::kInteger:
      return IsIntegral(value);
    case Type::kNumber:
      return value.is_number();
    case Type::kBoolean:
      return value.is_bool();
  }
  return false;
}

size_t CountRunes(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

bool IsDateTime(std::string_view text) {
  static const RE2& form = *new RE2(
      R"(\d{4}-(0\d|1[0-2])-([0-2]\d|3[01])[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]\d\d:\d\d))");
  return RE2::FullMatch(re2::StringPiece(text.data(), text.size()), form);
}

// Returns whether the text has the format. Formats that are not listed here are documentation, and always match.
bool HasFormat(std::string_view text, std::string_view format) {
  static const RE2& uuid = *new RE2("(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}");
  static const RE2& octets = *new RE2(R"((25[0-5]|2[0-4]\d|1?\d?\d)(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3})");
  static const RE2& base64 = *new RE2("([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?");
  static const RE2& duration = *new RE2(R"([-+]?((\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h))+|0)");
  const re2::StringPiece piece(text.data(), text.size());
  if (format == "date-time") return IsDateTime(text);
  if (format == "uuid") return RE2::FullMatch(piece, uuid);
  if (format == "ipv4") return RE2::FullMatch(piece, octets);
  if (format == "byte") return RE2::FullMatch(piece, base64);
  if (format == "duration") return RE2::FullMatch(piece, duration);
  return true;
}

// Returns the item of the old list with the same keys as `item`. Null if there is none, or if the list has no keys.
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

class Validator {
 public:
  explicit Validator(std::vector<FieldError>* errors) : errors_(errors) {}

  // Checks a value. `old` is the value that it replaces, or null.
  void Check(const json::value& value, const SchemaNode& node, const Path& path, const json::value* old) {
    if (value.is_null() && node.nullable) return;
    if (old != nullptr && *old == value) return;
    if (!HasType(value, node)) {
      const std::string_view wanted = node.int_or_string ? "integer,string" : TypeName(node.type);
      Add("FieldValueTypeInvalid", path,
          fmt::format("Invalid value: \"{0}\": {1} in body must be of type {2}: \"{0}\"", KindOf(value), path.Text(),
                      wanted));
      return;
    }
    if (!node.enumeration.empty()) CheckEnum(value, node, path);
    if (value.is_number()) CheckNumber(value, node, path);
    if (value.is_string()) CheckString(View(value.get_string()), node, path);
    if (value.is_array()) CheckArray(value.get_array(), node, path, old);
    if (value.is_object()) CheckObject(value.get_object(), node, path, old);
    CheckCombinations(value, node, path);
  }

 private:
  void Add(std::string_view reason, const Path& path, std::string message) {
    std::string field = path.Text();
    errors_->push_back({std::string(reason), field.empty() ? "<nil>" : std::move(field), std::move(message)});
  }
  void Invalid(const Path& path, std::string_view shown, std::string_view rule) {
    Add("FieldValueInvalid", path, fmt::format("Invalid value: {}: {} in body {}", shown, path.Text(), rule));
  }

  void CheckEnum(const json::value& value, const SchemaNode& node, const Path& path) {
    if (std::find(node.enumeration.begin(), node.enumeration.end(), value) != node.enumeration.end()) return;
    std::string supported;
    for (const json::value& allowed : node.enumeration) {
      if (!supported.empty()) supported += ", ";
      supported += allowed.is_string() ? ToText(allowed) : fmt::format("\"{}\"", ToText(allowed));
    }
    Add("FieldValueNotSupported", path,
        fmt::format("Unsupported value: {}: supported values: {}", ToText(value), supported));
  }

  void CheckNumber(const json::value& value, const SchemaNode& node, const Path& path) {
    const double number = value.to_number<double>();
    const auto shown = [&] { return ToText(value); };
    if (node.minimum && (node.exclusive_minimum ? number <= *node.minimum : number < *node.minimum)) {
      Invalid(path, shown(),
              fmt::format("should be greater than {}{}", node.exclusive_minimum ? "" : "or equal to ", *node.minimum));
    }
    if (node.maximum && (node.exclusive_maximum ? number >= *node.maximum : number > *node.maximum)) {
      Invalid(path, shown(),
              fmt::format("should be less than {}{}", node.exclusive_maximum ? "" : "or equal to ", *node.maximum));
    }
    if (node.multiple_of && *node.multiple_of != 0 &&
        std::floor(number / *node.multiple_of) != number / *node.multiple_of) {
      Invalid(path, shown(), fmt::format("should be a multiple of {}", *node.multiple_of));
    }
    if (node.type == Type::kInteger && node.format == "int32" &&
        (number < std::numeric_limits<int32_t>::min() || number > std::numeric_limits<int32_t>::max())) {
      Add("FieldValueInvalid", path,
          fmt::format("Invalid value: {}: {} in body must be of type int32: \"integer\"", shown(), path.Text()));
    }
  }

  void CheckString(std::string_view text, const SchemaNode& node, const Path& path) {
    const auto shown = [&] { return ToText(json::value(text)); };
    if (node.max_length && text.size() > *node.max_length && CountRunes(text) > *node.max_length) {
      Add("FieldValueTooLong", path, fmt::format("Too long: may not be more than {} bytes", *node.max_length));
    }
    if (node.min_length && CountRunes(text) < *node.min_length) {
      Invalid(path, shown(), fmt::format("should be at least {} chars long", *node.min_length));
    }
    if (node.pattern != nullptr && !RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *node.pattern)) {
      Invalid(path, shown(), fmt::format("should match '{}'", node.pattern_text));
    }
    if (!HasFormat(text, node.format)) {
      Add("FieldValueTypeInvalid", path,
          fmt::format("Invalid value: {0}: {1} in body must be of type {2}: {0}", shown(), path.Text(), node.format));
    }
  }

  void CheckArray(const json::array& array, const SchemaNode& node, const Path& path, const json::value* old) {
    if (node.min_items && array.size() < *node.min_items) {
      Invalid(path, fmt::to_string(array.size()), fmt::format("should have at least {} items", *node.min_items));
    }
    if (node.max_items && array.size() > *node.max_items) {
      Add("FieldValueTooMany", path,
          fmt::format("Too many: {}: must have at most {} items", array.size(), *node.max_items));
    }
    if (node.unique_items) CheckUnique(array, path);
    if (node.list_type != ListType::kAtomic) CheckListKeys(array, node, path);
    if (node.items == nullptr) return;
    for (size_t i = 0; i < array.size(); ++i) {
      Check(array[i], *node.items, Path{.parent = &path, .name = {}, .index = i, .is_index = true},
            OldItem(old, array[i], node));
    }
  }

  void CheckUnique(const json::array& array, const Path& path) {
    std::set<std::string> seen;
    for (const json::value& item : array) {
      if (seen.insert(ToText(item)).second) continue;
      Invalid(path, ToText(array), "shouldn't contain duplicates");
      return;
    }
  }

  void CheckListKeys(const json::array& array, const SchemaNode& node, const Path& path) {
    std::set<std::string> seen;
    for (size_t i = 0; i < array.size(); ++i) {
      const Path at{.parent = &path, .name = {}, .index = i, .is_index = true};
      json::value identity;
      if (node.list_type == ListType::kMap) {
        json::object keys;
        for (const std::string& key : node.list_keys) {
          if (const json::value* found = Find(array[i], key)) keys[key] = *found;
        }
        identity = std::move(keys);
      } else {
        identity = array[i];
      }
      std::string text = ToText(identity);
      if (!seen.insert(text).second) Add("FieldValueDuplicate", at, fmt::format("Duplicate value: {}", text));
    }
  }

  void CheckObject(const json::object& object, const SchemaNode& node, const Path& path, const json::value* old) {
    if (node.min_properties && object.size() < *node.min_properties) {
      Invalid(path, fmt::to_string(object.size()),
              fmt::format("should have at least {} properties", *node.min_properties));
    }
    if (node.max_properties && object.size() > *node.max_properties) {
      Add("FieldValueTooMany", path,
          fmt::format("Too many: {}: must have at most {} items", object.size(), *node.max_properties));
    }
    for (const std::string& name : node.required) {
      if (!object.contains(name)) Add("FieldValueRequired", Path{.parent = &path, .name = name}, "Required value");
    }
    if (node.embedded_resource) CheckEmbedded(object, path);
    if (node.properties.empty() && node.additional == nullptr) return;
    for (const auto& member : object) {
      const std::string_view name(member.key().data(), member.key().size());
      const auto found = node.properties.find(name);
      const SchemaNode* child = found != node.properties.end() ? found->second.get() : node.additional.get();
      if (child != nullptr) {
        Check(member.value(), *child, Path{.parent = &path, .name = name}, old == nullptr ? nullptr : Find(*old, name));
      }
    }
  }

  void CheckEmbedded(const json::object& object, const Path& path) {
    for (const std::string_view name : {"apiVersion", "kind"}) {
      const json::value* found = object.if_contains(name);
      if (found == nullptr || !found->is_string() || found->get_string().empty()) {
        Add("FieldValueRequired", Path{.parent = &path, .name = name}, "Required value");
      }
    }
  }

  std::vector<FieldError> ErrorsOf(const json::value& value, const SchemaNode& node, const Path& path) {
    std::vector<FieldError> errors;
    Validator(&errors).Check(value, node, path, nullptr);
    return errors;
  }

  // Checks anyOf, oneOf, allOf and not. If no alternative matches, the errors of the first one are added.
  void CheckCombinations(const json::value& value, const SchemaNode& node, const Path& path) {
    const auto fail = [&](std::string_view rule) {
      errors_->push_back(
          {"FieldValueInvalid", "<nil>", fmt::format("Invalid value: \"\": \"{}\" must {}", path.Text(), rule)});
    };
    const auto add = [&](const std::vector<FieldError>& errors) {
      errors_->insert(errors_->end(), errors.begin(), errors.end());
    };
    const auto matching = [&](const std::vector<std::unique_ptr<SchemaNode>>& parts) {
      return std::count_if(parts.begin(), parts.end(),
                           [&](const auto& part) { return ErrorsOf(value, *part, path).empty(); });
    };
    if (!node.any_of.empty() && matching(node.any_of) == 0) {
      fail("validate at least one schema (anyOf)");
      add(ErrorsOf(value, *node.any_of.front(), path));
    }
    const auto alternatives = node.one_of.empty() ? 1 : matching(node.one_of);
    if (alternatives == 0) {
      fail("validate one and only one schema (oneOf). Found none valid");
      add(ErrorsOf(value, *node.one_of.front(), path));
    } else if (alternatives > 1) {
      fail(fmt::format("validate one and only one schema (oneOf). Found {} valid alternatives", alternatives));
    }
    bool all = true;
    for (const auto& part : node.all_of) {
      const std::vector<FieldError> errors = ErrorsOf(value, *part, path);
      all = all && errors.empty();
      add(errors);
    }
    if (!all) fail("validate all the schemas (allOf)");
    if (node.negated != nullptr && ErrorsOf(value, *node.negated, path).empty()) fail("not validate the schema (not)");
  }

  std::vector<FieldError>* errors_;
};

}  // namespace

void Schema::Validate(const json::value& object, std::vector<FieldError>* errors, const json::value* old) const {
  Validator(errors).Check(object, *root_, Path{}, old);
}

absl::Status ValidateAndDefault(const Schema& schema, json::value& object, std::vector<FieldError>* errors,
                                std::vector<std::string>* pruned, const json::value* old) {
  const size_t before = errors->size();
  schema.PruneAndDefault(object, pruned);
  schema.Validate(object, errors, old);
  if (errors->size() == before) return absl::OkStatus();
  const FieldError& first = (*errors)[before];
  return InvalidField(first.field, first.message);
}

}  // namespace basalt::kubesim
