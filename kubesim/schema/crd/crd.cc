#include "kubesim/schema/crd/crd.h"

#include <fmt/format.h>

#include <cctype>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "kubesim/schema/core/field_errors.h"
#include "kubesim/schema/core/json_members.h"

namespace basalt::kubesim {
namespace {

std::vector<PrinterColumn> ParseColumns(const json::value& version) {
  std::vector<PrinterColumn> columns;
  if (const json::value* list = Find(version, "additionalPrinterColumns"); list != nullptr && list->is_array()) {
    for (const json::value& column : list->get_array()) {
      columns.push_back({std::string(FindString(column, "name")), std::string(FindString(column, "type")),
                         std::string(FindString(column, "format")), std::string(FindString(column, "description")),
                         std::string(FindString(column, "jsonPath")), static_cast<int>(FindInt(column, "priority"))});
    }
  }
  // A definition without columns shows the age. A definition with columns shows these only.
  if (columns.empty()) columns.push_back({"Age", "date", "", "", ".metadata.creationTimestamp", 0});
  return columns;
}

void ReadSubresources(const json::value& version, TypeInfo& type) {
  const json::value* subresources = Find(version, "subresources");
  if (subresources == nullptr) return;
  type.has_status = Find(*subresources, "status") != nullptr;
  if (const json::value* scale = Find(*subresources, "scale"); scale != nullptr && scale->is_object()) {
    type.has_scale = true;
    type.scale = {std::string(FindString(*scale, "specReplicasPath")),
                  std::string(FindString(*scale, "statusReplicasPath")),
                  std::string(FindString(*scale, "labelSelectorPath"))};
  }
}

absl::StatusOr<TypeInfoPtr> LoadVersion(const TypeInfo& common, const json::array& versions, size_t index) {
  const json::value& version = versions[index];
  auto type = std::make_shared<TypeInfo>(common);
  const std::string field = fmt::format("spec.versions[{}]", index);
  type->version = FindString(version, "name");
  if (type->version.empty()) return InvalidField(field + ".name", "Required value");
  type->storage = IsTrue(version, "storage");
  type->columns = ParseColumns(version);
  ReadSubresources(version, *type);
  const json::value* source = FindPath(version, {"schema", "openAPIV3Schema"});
  if (source == nullptr) return InvalidField(field + ".schema.openAPIV3Schema", "Required value");
  absl::StatusOr<std::shared_ptr<const Schema>> schema = Schema::Compile(*source);
  if (!schema.ok()) return Annotate(schema.status(), field + ".schema");
  type->schema = *std::move(schema);
  return type;
}

}  // namespace

void DefaultCrd(json::value& crd) {
  json::object* root = crd.if_object();
  json::value* spec_value = root == nullptr ? nullptr : root->if_contains("spec");
  json::object* spec = spec_value == nullptr ? nullptr : spec_value->if_object();
  if (spec == nullptr) return;
  spec->emplace("conversion", json::object{{"strategy", "None"}});
  json::value* names_value = spec->if_contains("names");
  json::object* names = names_value == nullptr ? nullptr : names_value->if_object();
  if (names == nullptr) return;
  const std::string kind(FindString(*names_value, "kind"));
  std::string lower = kind;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (FindString(*names_value, "singular").empty()) names->insert_or_assign("singular", lower);
  if (FindString(*names_value, "listKind").empty()) names->insert_or_assign("listKind", kind + "List");
}

absl::StatusOr<CustomResource> LoadCrd(const json::value& source) {
  json::value crd = source;
  DefaultCrd(crd);
  const json::value* spec = Find(crd, "spec");
  const json::value* names = spec == nullptr ? nullptr : Find(*spec, "names");
  if (names == nullptr) return InvalidField("spec.names", "Required value");
  CustomResource resource;
  const json::value* metadata = Find(crd, "metadata");
  resource.name = metadata == nullptr ? "" : FindString(*metadata, "name");
  resource.group = FindString(*spec, "group");
  TypeInfo common;
  common.group = resource.group;
  common.kind = FindString(*names, "kind");
  common.list_kind = FindString(*names, "listKind");
  common.plural = FindString(*names, "plural");
  common.singular = FindString(*names, "singular");
  common.short_names = StringsIn(*names, "shortNames");
  common.categories = StringsIn(*names, "categories");
  common.builtin = false;
  common.has_generation = true;
  if (common.group.empty()) return InvalidField("spec.group", "Required value");
  if (common.plural.empty()) return InvalidField("spec.names.plural", "Required value");
  if (common.kind.empty()) return InvalidField("spec.names.kind", "Required value");
  if (resource.name != common.Resource()) {
    return InvalidField(
        "metadata.name",
        fmt::format("Invalid value: \"{}\": must be spec.names.plural+\".\"+spec.group", resource.name));
  }
  const std::string_view scope = FindString(*spec, "scope");
  if (scope != "Namespaced" && scope != "Cluster") {
    return InvalidField("spec.scope",
                        fmt::format("Unsupported value: \"{}\": supported values: \"Cluster\", \"Namespaced\"", scope));
  }
  common.namespaced = scope == "Namespaced";

  const json::value* versions = Find(*spec, "versions");
  if (versions == nullptr || !versions->is_array() || versions->get_array().empty()) {
    return InvalidField("spec.versions", "Required value");
  }
  for (size_t i = 0; i < versions->get_array().size(); ++i) {
    const json::value& version = versions->get_array()[i];
    BASALT_ASSIGN_OR_RETURN(TypeInfoPtr type, LoadVersion(common, versions->get_array(), i));
    if (type->storage) {
      if (!resource.storage_version.empty())
        return InvalidField("spec.versions",
                            fmt::format("Invalid value: {}: must have exactly one version marked as storage version",
                                        ToText(*versions)));
      resource.storage_version = type->version;
    }
    if (IsTrue(version, "served")) resource.versions.push_back(std::move(type));
  }
  if (resource.storage_version.empty()) {
    return InvalidField(
        "spec.versions",
        fmt::format("Invalid value: {}: must have exactly one version marked as storage version", ToText(*versions)));
  }
  return resource;
}

json::value MakeCrdStatus(const json::value& crd, std::string_view now_rfc3339) {
  json::value full = crd;
  DefaultCrd(full);
  const json::string_view now(now_rfc3339.data(), now_rfc3339.size());
  const auto condition = [&](json::string_view type, json::string_view reason, json::string_view message) {
    return json::object{
        {"type", type}, {"status", "True"}, {"lastTransitionTime", now}, {"reason", reason}, {"message", message}};
  };
  json::array stored;
  if (const json::value* versions = FindPath(full, {"spec", "versions"}); versions != nullptr && versions->is_array()) {
    for (const json::value& version : versions->get_array()) {
      if (!IsTrue(version, "storage")) continue;
      const std::string_view name = FindString(version, "name");
      stored.emplace_back(name);
    }
  }
  const json::value* names = FindPath(full, {"spec", "names"});
  return json::object{{"conditions", json::array{condition("NamesAccepted", "NoConflicts", "no conflicts found"),
                                                 condition("Established", "InitialNamesAccepted",
                                                           "the initial names have been accepted")}},
                      {"acceptedNames", names == nullptr ? json::value(json::object()) : *names},
                      {"storedVersions", std::move(stored)}};
}

}  // namespace basalt::kubesim
