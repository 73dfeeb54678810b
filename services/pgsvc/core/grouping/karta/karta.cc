#include "services/pgsvc/core/grouping/karta/karta.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::pgsvc {
namespace {

constexpr std::string_view kRootField = "spec.structureDefinition.rootComponent";
constexpr std::string_view kChildrenField = "spec.structureDefinition.childComponents";
constexpr std::string_view kGangField = "spec.optimizationInstructions.gangScheduling";

// Members that are kept neither of workloads nor of pods: an expression that reads one of these would find nothing.
constexpr std::string_view kNotKept[] = {"containers",   "initContainers", "ephemeralContainers",  "volumes",
                                         "affinity",     "tolerations",    "volumeClaimTemplates", "env",
                                         "managedFields"};

absl::Status Wrong(std::string_view field, std::string_view rule) {
  return Invalid(fmt::format("{}: {}", field, rule));
}

enum class Of { kWorkload, kPod };

absl::Status CheckMembers(const Expression& expression, Of of, std::string_view field) {
  const auto reads = [&](std::string_view member) { return expression.members().contains(member); };
  const auto not_kept = std::find_if(std::begin(kNotKept), std::end(kNotKept), reads);
  if (not_kept != std::end(kNotKept)) return Wrong(field, fmt::format("{} is not kept, and cannot be read", *not_kept));
  if (reads("status")) return Wrong(field, "a status is not kept, and cannot be read");
  if (of == Of::kPod && reads("spec")) return Wrong(field, "of a pod metadata alone can be read");
  return absl::OkStatus();
}

absl::StatusOr<Expression> ExpressionOf(const json::value& value, Of of, const std::string& field) {
  if (!value.is_string()) return Wrong(field, "must be a text");
  absl::StatusOr<Expression> expression = Expression::Parse(value.get_string());
  if (!expression.ok()) return Wrong(field, ToStd(expression.status().message()));
  BASALT_RETURN_IF_ERROR(CheckMembers(*expression, of, field));
  return expression;
}

absl::StatusOr<std::optional<Expression>> OptionalExpression(const json::value& part,
                                                             std::initializer_list<std::string_view> path, Of of,
                                                             std::string_view where) {
  const json::value* const value = FindPath(part, path);
  if (value == nullptr || value->is_null()) return std::nullopt;
  BASALT_ASSIGN_OR_RETURN(Expression expression,
                          ExpressionOf(*value, of, fmt::format("{}.{}", where, fmt::join(path, "."))));
  return expression;
}

// Returns the entries of a list; nothing if there is no list.
absl::StatusOr<std::vector<const json::value*>> ListOf(const json::value* list, std::string_view field) {
  std::vector<const json::value*> entries;
  if (list == nullptr || list->is_null()) return entries;
  if (!list->is_array()) return Wrong(field, "must be a list");
  if (list->get_array().size() > Karta::kMostComponents) {
    return Wrong(field, fmt::format("there may be {} entries at most", Karta::kMostComponents));
  }
  for (const json::value& entry : list->get_array()) entries.push_back(&entry);
  return entries;
}

absl::StatusOr<std::vector<Expression>> ExpressionsOf(const json::value& part, std::string_view member,
                                                      const std::string& where) {
  const std::string field = fmt::format("{}.{}", where, member);
  BASALT_ASSIGN_OR_RETURN(const auto entries, ListOf(Find(part, member), field));
  std::vector<Expression> expressions;
  for (const json::value* const entry : entries) {
    BASALT_ASSIGN_OR_RETURN(Expression expression, ExpressionOf(*entry, Of::kPod, field));
    expressions.push_back(std::move(expression));
  }
  return expressions;
}

absl::StatusOr<bool> HasPodTemplate(const json::value& part, std::string_view where) {
  constexpr std::string_view kFields[] = {"podTemplateSpecPath", "podSpecPath", "fragmentedPodSpecDefinition"};
  const auto count = std::count_if(std::begin(kFields), std::end(kFields), [&part](std::string_view field) {
    const json::value* const found = FindPath(part, {"specDefinition", field});
    return found != nullptr && !found->is_null();
  });
  if (count <= 1) return count == 1;
  return Wrong(fmt::format("{}.specDefinition", where),
               fmt::format("there may be one of {}", fmt::join(std::begin(kFields), std::end(kFields), ", ")));
}

// If a component has instances, the workload must list their names, and a pod must name its instance.
absl::Status CheckInstances(const Karta::Component& component) {
  const std::string where = fmt::format("component {}", component.name);
  if (component.instance_ids && !component.instance_id) {
    return Wrong(where, "instanceIdPath needs podSelector.componentInstanceSelector");
  }
  if (component.instance_id && !component.instance_ids) {
    return Wrong(where, "podSelector.componentInstanceSelector needs instanceIdPath");
  }
  return absl::OkStatus();
}

absl::StatusOr<Karta::Component> ComponentOf(const json::value& part, const std::string& where) {
  Karta::Component component{.name = std::string(FindString(part, "name")),
                             .owner = std::string(FindString(part, "ownerRef"))};
  if (component.name.empty()) return Wrong(where + ".name", "is required");
  BASALT_ASSIGN_OR_RETURN(component.has_pod_template, HasPodTemplate(part, where));
  BASALT_ASSIGN_OR_RETURN(component.replicas,
                          OptionalExpression(part, {"scaleDefinition", "replicasPath"}, Of::kWorkload, where));
  BASALT_ASSIGN_OR_RETURN(component.min_replicas,
                          OptionalExpression(part, {"scaleDefinition", "minReplicasPath"}, Of::kWorkload, where));
  BASALT_ASSIGN_OR_RETURN(component.instance_ids, OptionalExpression(part, {"instanceIdPath"}, Of::kWorkload, where));
  BASALT_ASSIGN_OR_RETURN(
      component.instance_id,
      OptionalExpression(part, {"podSelector", "componentInstanceSelector", "idPath"}, Of::kPod, where));
  BASALT_ASSIGN_OR_RETURN(
      std::optional<Expression> key,
      OptionalExpression(part, {"podSelector", "componentTypeSelector", "keyPath"}, Of::kPod, where));
  if (key) {
    component.type = Karta::TypeSelector{.key = *std::move(key), .value = std::nullopt};
    const json::value* const value = FindPath(part, {"podSelector", "componentTypeSelector", "value"});
    if (value != nullptr && value->is_string()) component.type->value = std::string(value->get_string());
  }
  BASALT_RETURN_IF_ERROR(CheckInstances(component));
  return component;
}

absl::Status CheckOwners(const Karta& karta) {
  if (karta.components.size() > Karta::kMostComponents) {
    return Wrong(kChildrenField, fmt::format("there may be {} components at most", Karta::kMostComponents));
  }
  for (size_t i = 0; i < karta.components.size(); ++i) {
    const Karta::Component& component = karta.components[i];
    const std::string where = fmt::format("component {}", component.name);
    if (karta.Find(component.name) != &component) return Wrong(where, "two components have this name");
    if (i == 0) continue;
    if (component.owner.empty()) return Wrong(where, "ownerRef is required");
    const Karta::Component* above = &component;
    for (size_t steps = 0; above != karta.components.data(); ++steps) {
      if (steps > karta.components.size()) return Wrong(where, "its owners are a cycle");
      above = karta.Find(above->owner);
      if (above == nullptr) return Wrong(where, "there is no such owner");
    }
  }
  return absl::OkStatus();
}

std::optional<Topology> TopologyIn(const json::value& part) {
  const json::value* const found = Find(part, "topology");
  if (found == nullptr || found->is_null()) return std::nullopt;
  return Topology{.name = std::string(FindString(*found, "topologyName")),
                  .required = std::string(FindString(*found, "requiredTopologyLevel")),
                  .preferred = std::string(FindString(*found, "preferredTopologyLevel"))};
}

absl::StatusOr<Karta::OneGroup> OneGroupOf(const json::value& part) {
  const std::string where = fmt::format("{}.podGroup", kGangField);
  Karta::OneGroup group{.name = std::string(FindString(part, "name")), .topology = TopologyIn(part), .sub_groups = {}};
  if (group.name.empty()) return Wrong(where + ".name", "is required");
  BASALT_ASSIGN_OR_RETURN(const auto entries, ListOf(Find(part, "subGroups"), where + ".subGroups"));
  for (const json::value* const entry : entries) {
    group.sub_groups.push_back(
        {.component = std::string(FindString(*entry, "componentName")), .topology = TopologyIn(*entry)});
  }
  return group;
}

absl::StatusOr<Karta::Entry> EntryOf(const Karta& karta, const json::value& part, const std::string& where) {
  Karta::Entry entry{.name = std::string(FindString(part, "name")), .members = {}};
  BASALT_ASSIGN_OR_RETURN(const auto members, ListOf(Find(part, "members"), where + ".members"));
  for (const json::value* const one : members) {
    Karta::Member member{.component = std::string(FindString(*one, "componentName")), .keys = {}, .filters = {}};
    const std::string field = fmt::format("{}.members[{}]", where, entry.members.size());
    if (karta.Find(member.component) == nullptr) {
      return Wrong(field + ".componentName", fmt::format("there is no component '{}'", Excerpt(member.component)));
    }
    BASALT_ASSIGN_OR_RETURN(member.keys, ExpressionsOf(*one, "groupByKeyPaths", field));
    BASALT_ASSIGN_OR_RETURN(member.filters, ExpressionsOf(*one, "filters", field));
    entry.members.push_back(std::move(member));
  }
  return entry;
}

absl::Status CheckRoot(const KindName& kind, const json::value& root) {
  // The core group has no name: only its kind Pod may be a workload.
  const bool has_group = !kind.group.empty() || kind.kind == "Pod";
  if (!has_group || kind.version.empty() || kind.kind.empty()) {
    return Wrong(fmt::format("{}.kind", kRootField), "group, version and kind are required");
  }
  const json::value* const owner = Find(root, "ownerRef");
  if (owner == nullptr || owner->is_null()) return absl::OkStatus();
  return Wrong(fmt::format("{}.ownerRef", kRootField), "the root has none");
}

absl::Status ReadComponents(ObjectView object, Karta& karta) {
  const json::value* const root = object.At({"spec", "structureDefinition", "rootComponent"});
  if (root == nullptr) return Wrong(kRootField, "is required");
  const json::value* const status = Find(*root, "statusDefinition");
  if (status == nullptr || !status->is_object())
    return Wrong(fmt::format("{}.statusDefinition", kRootField), "is required");
  BASALT_RETURN_IF_ERROR(CheckRoot(karta.kind, *root));
  BASALT_ASSIGN_OR_RETURN(Karta::Component component, ComponentOf(*root, std::string(kRootField)));
  karta.components.push_back(std::move(component));
  BASALT_ASSIGN_OR_RETURN(const auto children,
                          ListOf(object.At({"spec", "structureDefinition", "childComponents"}), kChildrenField));
  for (const json::value* const child : children) {
    BASALT_ASSIGN_OR_RETURN(component,
                            ComponentOf(*child, fmt::format("{}[{}]", kChildrenField, karta.components.size() - 1)));
    karta.components.push_back(std::move(component));
  }
  return CheckOwners(karta);
}

const json::value* GangOf(ObjectView karta) { return karta.At({"spec", "optimizationInstructions", "gangScheduling"}); }

}  // namespace

const Karta::Component* Karta::Find(std::string_view component) const {
  const auto found = std::find_if(components.begin(), components.end(),
                                  [component](const auto& one) { return one.name == component; });
  return found == components.end() ? nullptr : &*found;
}

const Karta::Component* Karta::OwnerOf(const Component& component) const {
  return component.owner.empty() ? nullptr : Find(component.owner);
}

bool HasGangInstructions(ObjectView karta) {
  const json::value* const gang = GangOf(karta);
  if (gang == nullptr) return false;
  const json::value* const one = Find(*gang, "podGroup");
  const json::value* const entries = Find(*gang, "podGroups");
  return (one != nullptr && one->is_object()) ||
         (entries != nullptr && entries->is_array() && !entries->get_array().empty());
}

KindName KindOfKarta(ObjectView karta) {
  const auto part = [karta](std::string_view name) {
    return std::string(karta.TextAt({"spec", "structureDefinition", "rootComponent", "kind", name}));
  };
  return {part("group"), part("version"), part("kind")};
}

absl::StatusOr<Karta> ReadKarta(ObjectView object) {
  Karta karta{.name = std::string(object.name()), .kind = KindOfKarta(object)};
  BASALT_RETURN_IF_ERROR(ReadComponents(object, karta));
  const json::value* const gang = GangOf(object);
  if (gang == nullptr) return Wrong(kGangField, "is required");
  if (const json::value* const one = Find(*gang, "podGroup"); one != nullptr && one->is_object()) {
    BASALT_ASSIGN_OR_RETURN(karta.one_group, OneGroupOf(*one));
    return karta;
  }
  BASALT_ASSIGN_OR_RETURN(const auto entries,
                          ListOf(Find(*gang, "podGroups"), fmt::format("{}.podGroups", kGangField)));
  for (const json::value* const one : entries) {
    BASALT_ASSIGN_OR_RETURN(Karta::Entry entry,
                            EntryOf(karta, *one, fmt::format("{}.podGroups[{}]", kGangField, karta.entries.size())));
    karta.entries.push_back(std::move(entry));
  }
  return karta;
}

}  // namespace basalt::pgsvc
