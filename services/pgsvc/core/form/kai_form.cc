#include "services/pgsvc/core/form/kai_form.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "common/kube/kinds.h"

namespace basalt::pgsvc {
namespace {

constexpr std::string_view kSubGroups = "subGroups";
constexpr std::string_view kMinMember = "minMember";
constexpr std::string_view kMinSubGroup = "minSubGroup";

bool Has(const KaiGroupForm::Names& names, std::string_view field) { return names.empty() || names.contains(field); }

// Null: the definition has no schema of the version that is written.
const json::value* SpecSchemaOf(const json::value& definition) {
  const json::value* const versions = FindPath(definition, {"spec", "versions"});
  if (versions == nullptr || !versions->is_array()) return nullptr;
  for (const json::value& version : versions->get_array()) {
    if (FindString(version, "name") != kube::kKaiPodGroups.version) continue;
    return FindPath(version, {"schema", "openAPIV3Schema", "properties", "spec"});
  }
  return nullptr;
}

void ReadSchema(const json::value& schema, KaiGroupForm::Names& names, int64_t& least) {
  const json::value* const properties = Find(schema, "properties");
  if (properties == nullptr || !properties->is_object()) return;
  if (Find(schema, "x-kubernetes-preserve-unknown-fields") == nullptr) {
    for (const auto& property : properties->get_object()) names.emplace(property.key());
  }
  if (const json::value* const minimum = Find(*properties, kMinMember)) least = FindInt(*minimum, "minimum", 0);
}

bool IsNothing(const json::value& value) {
  return (value.is_object() && value.get_object().empty()) || (value.is_array() && value.get_array().empty());
}

class Fitting {
 public:
  explicit Fitting(const KaiGroupForm& form) : form_(form) {}

  void FitSpec(json::object& spec) {
    FitMinimum("the group", "", form_.fields, form_.least, spec, spec);
    Prune("the group", form_.fields, spec);
    const auto list = spec.find(kSubGroups);
    if (list == spec.end() || !list->value().is_array()) return;
    for (json::value& entry : list->value().get_array()) {
      const std::string name(FindString(entry, "name"));
      const std::string where = fmt::format("subgroup {}", name);
      FitMinimum(where, name, form_.sub_group_fields, form_.least_of_leaf, spec, entry.as_object());
      Prune(where, form_.sub_group_fields, entry.as_object());
    }
  }
  std::vector<std::string> TakeLosses() { return std::move(losses_); }

 private:
  // `name`: whose children count; empty: the group itself.
  void FitMinimum(const std::string& where, std::string_view name, const KaiGroupForm::Names& names, int64_t least,
                  const json::object& spec, json::object& object) {
    if (object.contains(kMinSubGroup) && !Has(names, kMinSubGroup)) {
      const int64_t wanted = FindInt(json::value(object), kMinSubGroup);
      const int64_t children = ChildrenOf(name, spec);
      object.stable_erase(kMinSubGroup);
      if (wanted < children) {
        losses_.push_back(
            fmt::format("{}: minSubGroup {} is not known to this cluster's definition of pod groups: all "
                        "{} subgroups are needed at once",
                        where, wanted, children));
      }
    }
    const auto minimum = object.find(kMinMember);
    if (minimum == object.end() || FindInt(json::value(object), kMinMember) >= least) return;
    losses_.push_back(
        fmt::format("{}: minMember {} is refused by this cluster's definition of pod groups, and left out", where,
                    FindInt(json::value(object), kMinMember)));
    object.stable_erase(minimum);
  }

  static int64_t ChildrenOf(std::string_view parent, const json::object& spec) {
    const json::value* const list = spec.if_contains(kSubGroups);
    if (list == nullptr || !list->is_array()) return 0;
    int64_t children = 0;
    for (const json::value& entry : list->get_array()) children += FindString(entry, "parent") == parent ? 1 : 0;
    return children;
  }

  void Prune(const std::string& where, const KaiGroupForm::Names& names, json::object& object) {
    for (auto member = object.begin(); member != object.end();) {
      if (Has(names, member->key())) {
        ++member;
        continue;
      }
      if (!IsNothing(member->value())) {
        losses_.push_back(fmt::format("{}: {} is not known to this cluster's definition of pod groups, and left out",
                                      where, std::string_view(member->key())));
      }
      member = object.stable_erase(member);
    }
  }

  const KaiGroupForm& form_;
  std::vector<std::string> losses_;
};

}  // namespace

KaiGroupForm KaiGroupFormOf(const json::value& definition) {
  KaiGroupForm form;
  const json::value* const schema = SpecSchemaOf(definition);
  if (schema == nullptr) return form;
  ReadSchema(*schema, form.fields, form.least);
  if (const json::value* const entry = FindPath(*schema, {"properties", kSubGroups, "items"})) {
    ReadSchema(*entry, form.sub_group_fields, form.least_of_leaf);
  }
  return form;
}

GroupForm GroupFormOf(const KaiGroupForm& form) {
  return {.has_sub_group_minimum = Has(form.fields, kMinSubGroup), .has_optional_leaves = form.least_of_leaf <= 0};
}

std::vector<std::string> FitInto(const KaiGroupForm& form, json::object& spec) {
  Fitting fitting(form);
  fitting.FitSpec(spec);
  return fitting.TakeLosses();
}

}  // namespace basalt::pgsvc
