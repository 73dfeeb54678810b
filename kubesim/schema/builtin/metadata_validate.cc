#include <fmt/format.h>

#include <set>

#include "kubesim/schema/builtin/builtin.h"
#include "kubesim/schema/core/field_errors.h"
#include "kubesim/schema/core/json_members.h"
#include "kubesim/schema/core/name_rules.h"

namespace basalt::kubesim {
namespace {

constexpr size_t kMaxAnnotationBytes = 256 << 10;

std::string CheckName(const TypeInfo& type, std::string_view name) {
  if (type.builtin && (type.kind == "Namespace" || type.kind == "Service")) return CheckDnsLabel(name);
  return CheckDnsSubdomain(name);
}

void CheckNames(const TypeInfo& type, const json::value& metadata, std::vector<FieldError>* errors) {
  const std::string_view name = FindString(metadata, "name");
  const std::string_view prefix = FindString(metadata, "generateName");
  if (name.empty() && prefix.empty()) {
    AddRequired(errors, "metadata.name", "name or generateName is required");
  } else if (!name.empty()) {
    if (const std::string wrong = CheckName(type, name); !wrong.empty()) {
      AddInvalid(errors, "metadata.name", name, wrong);
    }
  } else {
    // The generated suffix makes a prefix like "a-" valid.
    if (const std::string wrong = CheckName(type, fmt::format("{}x", prefix)); !wrong.empty()) {
      AddInvalid(errors, "metadata.generateName", prefix, wrong);
    }
  }
  const std::string_view space = FindString(metadata, "namespace");
  if (type.namespaced && space.empty()) {
    AddRequired(errors, "metadata.namespace", "");
  } else if (!type.namespaced && !space.empty()) {
    errors->push_back({"FieldValueForbidden", "metadata.namespace", "Forbidden: not allowed on this type"});
  } else if (!space.empty()) {
    if (const std::string wrong = CheckDnsLabel(space); !wrong.empty()) {
      AddInvalid(errors, "metadata.namespace", space, wrong);
    }
  }
}

void CheckAnnotations(const json::value& metadata, std::vector<FieldError>* errors) {
  const json::value* annotations = Find(metadata, "annotations");
  if (annotations == nullptr || annotations->is_null()) return;
  if (!annotations->is_object()) return AddType(errors, "metadata.annotations", "object", *annotations);
  size_t bytes = 0;
  for (const auto& member : annotations->get_object()) {
    const std::string_view key(member.key().data(), member.key().size());
    std::string lower(key);
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (const std::string wrong = CheckQualifiedName(lower); !wrong.empty()) {
      AddInvalid(errors, "metadata.annotations", key, wrong);
    }
    if (!member.value().is_string()) {
      AddType(errors, fmt::format("metadata.annotations.{}", key), "string", member.value());
      continue;
    }
    bytes += key.size() + member.value().get_string().size();
  }
  if (bytes > kMaxAnnotationBytes) {
    errors->push_back({"FieldValueTooLong", "metadata.annotations",
                       fmt::format("Too long: may not be more than {} bytes", kMaxAnnotationBytes)});
  }
}

void CheckOwners(const json::value& metadata, std::vector<FieldError>* errors) {
  const json::value* owners = Find(metadata, "ownerReferences");
  if (owners == nullptr || owners->is_null()) return;
  if (!owners->is_array()) return AddType(errors, "metadata.ownerReferences", "array", *owners);
  size_t controllers = 0;
  for (size_t i = 0; i < owners->get_array().size(); ++i) {
    const json::value& owner = owners->get_array()[i];
    for (const std::string_view field : {"apiVersion", "kind", "name", "uid"}) {
      if (!FindString(owner, field).empty()) continue;
      const std::string_view rule = field == "apiVersion" ? "version must not be empty" : "must not be empty";
      AddInvalid(errors, fmt::format("metadata.ownerReferences.{}", field), "", rule);
    }
    if (IsTrue(owner, "controller")) ++controllers;
  }
  if (controllers > 1) {
    errors->push_back({"FieldValueInvalid", "metadata.ownerReferences",
                       fmt::format("Invalid value: {}: Only one reference can have Controller set to true. Found "
                                   "\"true\" in {} references",
                                   ToText(*owners), controllers)});
  }
}

bool IsStandardFinalizer(std::string_view name) {
  return name == "kubernetes" || name == "orphan" || name == "foregroundDeletion";
}

void CheckFinalizers(const TypeInfo& type, const json::value& metadata, std::vector<FieldError>* errors) {
  const json::value* finalizers = Find(metadata, "finalizers");
  if (finalizers == nullptr || finalizers->is_null()) return;
  if (!finalizers->is_array()) return AddType(errors, "metadata.finalizers", "array", *finalizers);
  for (size_t i = 0; i < finalizers->get_array().size(); ++i) {
    const json::value& item = finalizers->get_array()[i];
    const std::string field = fmt::format("metadata.finalizers[{}]", i);
    if (!item.is_string()) {
      AddType(errors, field, "string", item);
      continue;
    }
    const std::string_view name(item.get_string().data(), item.get_string().size());
    if (const std::string wrong = CheckQualifiedName(name); !wrong.empty()) {
      AddInvalid(errors, "metadata.finalizers", name, wrong);
    } else if (type.builtin && name.find('/') == std::string_view::npos && !IsStandardFinalizer(name)) {
      AddInvalid(errors, field, name, "name is neither a standard finalizer name nor is it fully qualified");
    }
  }
}

}  // namespace

void CheckLabels(const json::value* labels, const std::string& field, std::vector<FieldError>* errors) {
  if (labels == nullptr || labels->is_null()) return;
  if (!labels->is_object()) return AddType(errors, field, "object", *labels);
  for (const auto& member : labels->get_object()) {
    const std::string_view key(member.key().data(), member.key().size());
    if (const std::string wrong = CheckQualifiedName(key); !wrong.empty()) AddInvalid(errors, field, key, wrong);
    if (!member.value().is_string()) {
      AddType(errors, fmt::format("{}.{}", field, key), "string", member.value());
      continue;
    }
    const std::string_view value(member.value().get_string().data(), member.value().get_string().size());
    if (const std::string wrong = CheckLabelValue(value); !wrong.empty()) AddInvalid(errors, field, value, wrong);
  }
}

void ValidateMetadata(const TypeInfo& type, const json::value& object, std::vector<FieldError>* errors) {
  const json::value* metadata = Find(object, "metadata");
  if (metadata == nullptr || !metadata->is_object()) {
    AddRequired(errors, "metadata", "");
    return;
  }
  CheckNames(type, *metadata, errors);
  CheckLabels(Find(*metadata, "labels"), "metadata.labels", errors);
  CheckAnnotations(*metadata, errors);
  CheckOwners(*metadata, errors);
  CheckFinalizers(type, *metadata, errors);
}

}  // namespace basalt::kubesim
