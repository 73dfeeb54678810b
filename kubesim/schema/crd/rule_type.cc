#include "kubesim/schema/crd/rule_type.h"

#include <fmt/format.h>

namespace basalt::kubesim {
namespace {

using cel::Kind;
using cel::Simple;
using cel::Type;
using cel::TypePtr;

TypePtr TextType(std::string_view format) {
  if (format == "byte") return Simple(Kind::kBytes);
  if (format == "duration") return Simple(Kind::kDuration);
  if (format == "date-time") return Simple(Kind::kTimestamp);
  if (format != "date") return Simple(Kind::kString);
  auto day = std::make_shared<Type>();
  day->kind = Kind::kTimestamp;
  day->date_only = true;
  return day;
}

TypePtr ArrayType(const SchemaNode& node, std::string_view name) {
  if (node.items == nullptr) return nullptr;
  TypePtr item = RuleType(*node.items, node.items->embedded_resource, fmt::format("{}.@idx", name));
  if (item == nullptr) return nullptr;
  auto list = std::make_shared<Type>(*cel::ListOf(std::move(item)));
  if (node.list_type == ListType::kSet) list->list = cel::ListSemantics::kSet;
  if (node.list_type == ListType::kMap) list->list = cel::ListSemantics::kMap;
  list->list_keys = node.list_keys;
  return list;
}

void AddField(Type& type, std::string_view name, TypePtr field) {
  if (field == nullptr) return;
  if (std::string escaped = cel::EscapeFieldName(name); !escaped.empty()) {
    type.fields.insert_or_assign(std::move(escaped), cel::Field{std::string(name), std::move(field)});
  }
}

TypePtr ObjectType(const SchemaNode& node, bool is_resource, std::string_view name) {
  if (node.additional != nullptr) {
    TypePtr value = RuleType(*node.additional, node.additional->embedded_resource, fmt::format("{}.@elem", name));
    return value == nullptr ? nullptr : cel::MapOf(Simple(Kind::kString), std::move(value));
  }
  auto type = std::make_shared<Type>();
  type->kind = Kind::kStruct;
  type->name = name;
  for (const auto& [property, child] : node.properties) {
    AddField(*type, property, RuleType(*child, child->embedded_resource, fmt::format("{}.{}", name, property)));
  }
  if (!is_resource) return type;
  auto metadata = std::make_shared<Type>();
  metadata->kind = Kind::kStruct;
  metadata->name = fmt::format("{}.metadata", name);
  AddField(*metadata, "name", Simple(Kind::kString));
  AddField(*metadata, "generateName", Simple(Kind::kString));
  AddField(*type, "apiVersion", Simple(Kind::kString));
  AddField(*type, "kind", Simple(Kind::kString));
  AddField(*type, "metadata", std::move(metadata));
  return type;
}

}  // namespace

TypePtr RuleType(const SchemaNode& node, bool is_resource, std::string_view name) {
  if (node.int_or_string) return Simple(Kind::kDyn);
  switch (node.type) {
    case SchemaNode::Type::kAny:
      return is_resource ? ObjectType(node, is_resource, name) : nullptr;
    case SchemaNode::Type::kObject:
      return ObjectType(node, is_resource, name);
    case SchemaNode::Type::kArray:
      return ArrayType(node, name);
    case SchemaNode::Type::kString:
      return TextType(node.format);
    case SchemaNode::Type::kInteger:
      return Simple(Kind::kInt);
    case SchemaNode::Type::kNumber:
      return Simple(Kind::kDouble);
    case SchemaNode::Type::kBoolean:
      return Simple(Kind::kBool);
  }
  return nullptr;
}

}  // namespace basalt::kubesim
