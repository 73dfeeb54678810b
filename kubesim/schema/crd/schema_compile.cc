#include <fmt/format.h>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "kubesim/schema/core/field_errors.h"
#include "kubesim/schema/core/json_members.h"
#include "kubesim/schema/crd/crd.h"
#include "kubesim/schema/crd/schema_node.h"

namespace basalt::kubesim {
namespace {

constexpr size_t kMaxDepth = 100;

std::optional<double> Number(const json::value& source, std::string_view name) {
  const json::value* found = Find(source, name);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  return found->to_number<double>();
}

std::optional<size_t> Size(const json::value& source, std::string_view name) {
  const std::optional<double> number = Number(source, name);
  if (!number || *number < 0) return std::nullopt;
  return static_cast<size_t>(*number);
}

absl::StatusOr<SchemaNode::Type> ParseType(const json::value& source, std::string_view path) {
  const std::string_view name = FindString(source, "type");
  using Type = SchemaNode::Type;
  for (const Type type :
       {Type::kAny, Type::kObject, Type::kArray, Type::kString, Type::kInteger, Type::kNumber, Type::kBoolean}) {
    if (TypeName(type) == name) return type;
  }
  return InvalidField(fmt::format("{}.type", path),
                      fmt::format(R"(Unsupported value: "{}": supported values: "array", "boolean", "integer", )"
                                  R"("number", "object", "string")",
                                  name));
}

class Compiler {
 public:
  // Compiles a schema. `value_validation` is true inside allOf, anyOf, oneOf and not, where types may be left out.
  absl::StatusOr<std::unique_ptr<SchemaNode>> Compile(const json::value& source, const std::string& path, size_t depth,
                                                      bool value_validation) {
    if (!source.is_object()) return InvalidField(path, "a schema must be an object");
    if (depth > kMaxDepth) return InvalidField(path, "nested more than 100 levels deep");
    if (Find(source, "$ref") != nullptr) return InvalidField(path + ".$ref", "Forbidden: $ref is not supported");
    auto node = std::make_unique<SchemaNode>();
    BASALT_ASSIGN_OR_RETURN(node->type, ParseType(source, path));
    node->format = FindString(source, "format");
    node->nullable = IsTrue(source, "nullable");
    node->int_or_string = IsTrue(source, "x-kubernetes-int-or-string") || node->format == "int-or-string";
    node->preserve_unknown = IsTrue(source, "x-kubernetes-preserve-unknown-fields");
    node->embedded_resource = IsTrue(source, "x-kubernetes-embedded-resource");
    if (node->type == SchemaNode::Type::kAny && !value_validation && !node->int_or_string && !node->preserve_unknown) {
      return InvalidField(path + ".type", "Required value: must not be empty for specified object fields");
    }
    BASALT_RETURN_IF_ERROR(CompileListType(source, path, *node));
    BASALT_RETURN_IF_ERROR(CompileChecks(source, path, *node));
    BASALT_RETURN_IF_ERROR(CompileChildren(source, path, depth, value_validation, *node));
    return node;
  }

 private:
  static absl::Status CompileListType(const json::value& source, const std::string& path, SchemaNode& node) {
    node.atomic_map = FindString(source, "x-kubernetes-map-type") == "atomic";
    node.list_keys = StringsIn(source, "x-kubernetes-list-map-keys");
    const std::string_view list_type = FindString(source, "x-kubernetes-list-type");
    if (list_type == "map") {
      if (node.list_keys.empty()) {
        return InvalidField(path + ".x-kubernetes-list-map-keys",
                            "Required value: must not be empty if x-kubernetes-list-type is map");
      }
      node.list_type = ListType::kMap;
    } else if (list_type == "set") {
      node.list_type = ListType::kSet;
    } else if (!list_type.empty() && list_type != "atomic") {
      return InvalidField(
          path + ".x-kubernetes-list-type",
          fmt::format(R"(Unsupported value: "{}": supported values: "atomic", "map", "set")", list_type));
    }
    return absl::OkStatus();
  }

  static absl::Status CompileChecks(const json::value& source, const std::string& path, SchemaNode& node) {
    node.required = StringsIn(source, "required");
    if (const json::value* values = Find(source, "enum"); values != nullptr && values->is_array()) {
      node.enumeration.assign(values->get_array().begin(), values->get_array().end());
    }
    node.minimum = Number(source, "minimum");
    node.maximum = Number(source, "maximum");
    node.multiple_of = Number(source, "multipleOf");
    node.exclusive_minimum = IsTrue(source, "exclusiveMinimum");
    node.exclusive_maximum = IsTrue(source, "exclusiveMaximum");
    node.min_length = Size(source, "minLength");
    node.max_length = Size(source, "maxLength");
    node.min_items = Size(source, "minItems");
    node.max_items = Size(source, "maxItems");
    node.min_properties = Size(source, "minProperties");
    node.max_properties = Size(source, "maxProperties");
    node.unique_items = IsTrue(source, "uniqueItems");
    if (const std::string_view pattern = FindString(source, "pattern"); !pattern.empty()) {
      node.pattern_text = pattern;
      node.pattern = std::make_unique<RE2>(node.pattern_text, RE2::Quiet);
      if (!node.pattern->ok()) {
        return InvalidField(path + ".pattern",
                            fmt::format("Invalid value: \"{}\": must be a valid regular expression, but isn't: {}",
                                        pattern, node.pattern->error()));
      }
    }
    if (const json::value* value = Find(source, "default")) node.default_value = *value;
    return absl::OkStatus();
  }

  absl::Status CompileChildren(const json::value& source, const std::string& path, size_t depth, bool value_validation,
                               SchemaNode& node) {
    if (const json::value* properties = Find(source, "properties"); properties != nullptr && properties->is_object()) {
      for (const auto& member : properties->get_object()) {
        const std::string name(member.key());
        BASALT_ASSIGN_OR_RETURN(auto child, Compile(member.value(), fmt::format("{}.properties[{}]", path, name),
                                                    depth + 1, value_validation));
        // A null of a property that may not be null is dropped, so every property has to be visited.
        node.defaults_below = true;
        node.properties.emplace(name, std::move(child));
      }
    }
    if (const json::value* items = Find(source, "items")) {
      BASALT_ASSIGN_OR_RETURN(node.items, Compile(*items, path + ".items", depth + 1, value_validation));
      node.defaults_below |= node.items->defaults_below;
    } else if (node.type == SchemaNode::Type::kArray && !value_validation) {
      return InvalidField(path + ".items", "Required value: must be specified");
    }
    if (const json::value* additional = Find(source, "additionalProperties")) {
      if (additional->is_bool()) {
        node.additional_allowed = additional->get_bool();
      } else {
        BASALT_ASSIGN_OR_RETURN(node.additional,
                                Compile(*additional, path + ".additionalProperties", depth + 1, value_validation));
        node.defaults_below = true;
      }
    }
    // The API server requires the same anyOf beside every x-kubernetes-int-or-string, so the flag is enough.
    if (!node.int_or_string) BASALT_RETURN_IF_ERROR(CompileList(source, "anyOf", path, depth, node.any_of));
    BASALT_RETURN_IF_ERROR(CompileList(source, "allOf", path, depth, node.all_of));
    BASALT_RETURN_IF_ERROR(CompileList(source, "oneOf", path, depth, node.one_of));
    if (const json::value* negated = Find(source, "not")) {
      BASALT_ASSIGN_OR_RETURN(node.negated, Compile(*negated, path + ".not", depth + 1, true));
    }
    return absl::OkStatus();
  }

  absl::Status CompileList(const json::value& source, std::string_view name, const std::string& path, size_t depth,
                           std::vector<std::unique_ptr<SchemaNode>>& out) {
    const json::value* list = Find(source, name);
    if (list == nullptr || !list->is_array()) return absl::OkStatus();
    for (size_t i = 0; i < list->get_array().size(); ++i) {
      BASALT_ASSIGN_OR_RETURN(auto node,
                              Compile(list->get_array()[i], fmt::format("{}.{}[{}]", path, name, i), depth + 1, true));
      out.push_back(std::move(node));
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::string_view TypeName(SchemaNode::Type type) {
  switch (type) {
    case SchemaNode::Type::kAny:
      return "";
    case SchemaNode::Type::kObject:
      return "object";
    case SchemaNode::Type::kArray:
      return "array";
    case SchemaNode::Type::kString:
      return "string";
    case SchemaNode::Type::kInteger:
      return "integer";
    case SchemaNode::Type::kNumber:
      return "number";
    case SchemaNode::Type::kBoolean:
      return "boolean";
  }
  return "";
}

Schema::Schema(std::unique_ptr<SchemaNode> root) : root_(std::move(root)) {}
Schema::~Schema() = default;

absl::StatusOr<std::shared_ptr<const Schema>> Schema::Compile(const json::value& source) {
  BASALT_ASSIGN_OR_RETURN(std::unique_ptr<SchemaNode> root, Compiler().Compile(source, "openAPIV3Schema", 0, false));
  if (root->type != SchemaNode::Type::kObject) {
    return InvalidField("openAPIV3Schema.type",
                        fmt::format("Invalid value: \"{}\": must be object at the root", TypeName(root->type)));
  }
  return std::shared_ptr<const Schema>(new Schema(std::move(root)));
}

}  // namespace basalt::kubesim
