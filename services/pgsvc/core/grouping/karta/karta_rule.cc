#include "services/pgsvc/core/grouping/karta/karta_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "services/pgsvc/core/grouping/group_name.h"
#include "services/pgsvc/core/grouping/inheritance.h"
#include "services/pgsvc/core/grouping/minimum.h"

namespace basalt::pgsvc {
namespace {

using Component = Karta::Component;

// No scheduler can meet a minimum of more pods.
constexpr int64_t kMostPods = INT32_MAX;

std::string KeyOf(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : ToText(value);
}

// The numbers of pods in the components of a workload.
class Scales {
 public:
  // The arguments outlive this object, which adds to the warnings.
  Scales(const Karta& karta, const RuleInput& input, std::vector<std::string>& warnings)
      : karta_(karta), workload_(input.top), budget_(input.budget), warnings_(warnings) {
    has_any_ = std::any_of(karta.components.begin(), karta.components.end(), [](const Component& component) {
      return component.replicas.has_value() || component.min_replicas.has_value();
    });
  }

  // Returns the pods of the component and of everything that belongs to it. If the Karta has no scale anywhere, returns
  // how many components have a pod template. Computes each component once.
  absl::StatusOr<int64_t> Of(const Component& component) {
    if (const auto known = known_.find(&component); known != known_.end()) return known->second;
    BASALT_ASSIGN_OR_RETURN(const int64_t scale, has_any_ ? Count(component) : Templates(component));
    known_[&component] = scale;
    return scale;
  }

  // Returns the pods of the instances of that name alone, and of what belongs to each.
  absl::StatusOr<int64_t> OfInstance(const Component& component, std::string_view name) {
    BASALT_ASSIGN_OR_RETURN(const std::vector<Instance> instances, InstancesOf(component));
    int64_t count = 0;
    int64_t own = 0;
    for (const Instance& instance : instances) {
      if (instance.name != name) continue;
      ++count;
      own = std::min(own + instance.pods, kMostPods);
    }
    if (count == 0) return Invalid(fmt::format("component {} has no instance '{}'", component.name, Excerpt(name)));
    if (!has_any_) return count;
    return WithChildren(component, own);
  }

 private:
  struct Instance {
    std::string name;
    int64_t pods = 0;
  };

  absl::StatusOr<int64_t> Count(const Component& component) {
    BASALT_ASSIGN_OR_RETURN(const std::vector<Instance> instances, InstancesOf(component));
    int64_t own = 0;
    for (const Instance& instance : instances) own = std::min(own + instance.pods, kMostPods);
    return WithChildren(component, own);
  }

  // Each of the component's own pods has all that belongs to the component.
  absl::StatusOr<int64_t> WithChildren(const Component& component, int64_t own) {
    int64_t children = 0;
    for (const Component& child : karta_.components) {
      if (child.owner != component.name) continue;
      BASALT_ASSIGN_OR_RETURN(const int64_t scale, Of(child));
      children = std::min(children + scale, kMostPods);
    }
    if (children == 0) return own;
    return own == 0 ? children : std::min(own * children, kMostPods);
  }

  // A component without instances has one instance without a name.
  absl::StatusOr<std::vector<Instance>> InstancesOf(const Component& component) const {
    std::vector<Instance> instances(1);
    if (component.instance_ids) {
      instances.clear();
      BASALT_ASSIGN_OR_RETURN(const std::vector<json::value> ids,
                              component.instance_ids->Evaluate(workload_.json(), budget_));
      for (const json::value& id : ids) instances.push_back({.name = KeyOf(id)});
    }
    // If the least number is given, too, it counts in place of the replicas.
    for (const std::optional<Expression>* const expression : {&component.replicas, &component.min_replicas}) {
      if (!*expression) continue;
      BASALT_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, Numbers(**expression));
      if (numbers.size() != instances.size()) {
        return Invalid(fmt::format("component {}: expression '{}' yields {} values for {} instance{}", component.name,
                                   Excerpt((*expression)->text()), numbers.size(), instances.size(),
                                   instances.size() == 1 ? "" : "s"));
      }
      for (size_t i = 0; i < numbers.size(); ++i) {
        int64_t& pods = instances[i].pods;
        if (numbers[i] > 0) pods = pods > 0 ? Capped(numbers[i], pods, component) : numbers[i];
      }
    }
    return instances;
  }

  // A least number above the replicas is lowered to them.
  int64_t Capped(int64_t least, int64_t replicas, const Component& component) const {
    return pgsvc::Capped(static_cast<int32_t>(least), replicas,
                         fmt::format("{}: component {}", workload_.Described(), component.name), warnings_);
  }

  absl::StatusOr<std::vector<int64_t>> Numbers(const Expression& expression) const {
    std::vector<int64_t> numbers;
    BASALT_ASSIGN_OR_RETURN(const std::vector<json::value> values, expression.Evaluate(workload_.json(), budget_));
    for (const json::value& value : values) {
      if (value.is_null()) {
        numbers.push_back(0);
        continue;
      }
      boost::system::error_code error;
      const auto number = value.to_number<int64_t>(error);
      if (error || number > kMostPods) {
        return Invalid(fmt::format("expression '{}': must yield integers", Excerpt(expression.text())));
      }
      numbers.push_back(number);
    }
    return numbers;
  }

  absl::StatusOr<int64_t> Templates(const Component& component) {
    int64_t templates = 0;
    if (component.has_pod_template) {
      BASALT_ASSIGN_OR_RETURN(const std::vector<Instance> instances, InstancesOf(component));
      templates = static_cast<int64_t>(instances.size());
    }
    for (const Component& child : karta_.components) {
      if (child.owner != component.name) continue;
      BASALT_ASSIGN_OR_RETURN(const int64_t below, Of(child));
      templates += below;
    }
    return templates;
  }

  const Karta& karta_;
  ObjectView workload_;
  StepBudget& budget_;
  std::vector<std::string>& warnings_;
  std::map<const Component*, int64_t> known_;
  bool has_any_ = false;
};

// Returns the one value that the expression yields for the pod.
absl::StatusOr<json::value> OneOf(const Expression& expression, const RuleInput& input) {
  BASALT_ASSIGN_OR_RETURN(std::vector<json::value> values, expression.Evaluate(input.pod.json(), input.budget));
  const bool is_one =
      values.size() == 1 && !values[0].is_null() && !(values[0].is_string() && values[0].get_string().empty());
  if (is_one) return std::move(values[0]);
  return Invalid(fmt::format("expression '{}': must yield one value of {}, and not an empty one",
                             Excerpt(expression.text()), input.pod.Described()));
}

// One matching value is enough, and an empty text is a value, too.
bool IsSelected(const Component& component, const RuleInput& input) {
  if (!component.type) return false;
  const absl::StatusOr<std::vector<json::value>> values = component.type->key.Evaluate(input.pod.json(), input.budget);
  if (!values.ok()) return false;
  const std::optional<std::string>& wanted = component.type->value;
  return std::any_of(values->begin(), values->end(), [&wanted](const json::value& value) {
    return wanted ? value.is_string() && *wanted == value.get_string() : !value.is_null();
  });
}

// Returns the components that select the pod, and all components above them.
std::set<const Component*> ComponentsWith(const Karta& karta, const RuleInput& input) {
  std::set<const Component*> with;
  for (const Component& component : karta.components) {
    if (!IsSelected(component, input)) continue;
    const Component* one = &component;
    while (one != nullptr && with.insert(one).second) one = karta.OwnerOf(*one);
  }
  return with;
}

absl::Status CheckTopology(const std::optional<Topology>& topology, std::string_view of) {
  if (!topology) return absl::OkStatus();
  if (topology->name.empty()) return Invalid(fmt::format("topology of {}: topologyName: is required", of));
  if (topology->has_level()) return absl::OkStatus();
  return Invalid(
      fmt::format("topology of {}: requiredTopologyLevel or preferredTopologyLevel: one of them is required", of));
}

absl::StatusOr<Grouping> GroupAsOne(const RuleInput& input, const Karta& karta, Grouping grouping) {
  const Karta::OneGroup& wanted = *karta.one_group;
  Scales scales(karta, input, grouping.warnings);
  grouping.name = GroupNameOf(fmt::format("pg-{}-{}", input.top.uid(), wanted.name));
  // The workload's own topology comes first (G28).
  BASALT_RETURN_IF_ERROR(CheckTopology(wanted.topology, "the group"));
  if (grouping.topology.name.empty() && wanted.topology) grouping.topology = *wanted.topology;
  if (wanted.sub_groups.empty()) {
    BASALT_ASSIGN_OR_RETURN(const int64_t scale, scales.Of(karta.components.front()));
    grouping.minimum = {.count = static_cast<int32_t>(scale)};
    return grouping;
  }
  grouping.minimum = {.count = static_cast<int32_t>(wanted.sub_groups.size()), .of_sub_groups = true};
  const std::set<const Component*> with_pod = ComponentsWith(karta, input);
  for (const Karta::SubGroupOf& sub_group : wanted.sub_groups) {
    const Component* const found = karta.Find(sub_group.component);
    if (found == nullptr) return Invalid(fmt::format("subGroups: there is no component '{}'", sub_group.component));
    const Component& component = *found;
    BASALT_RETURN_IF_ERROR(CheckTopology(sub_group.topology, component.name));
    BASALT_ASSIGN_OR_RETURN(const int64_t scale, scales.Of(component));
    if (scale == 0) {
      return Invalid(fmt::format("component {}: {} says of no replicas", component.name, input.top.Described()));
    }
    grouping.sub_groups.push_back({.name = component.name,
                                   .minimum = {.count = static_cast<int32_t>(scale)},
                                   .topology = sub_group.topology.value_or(Topology())});
    if (grouping.pod_sub_group.empty() && with_pod.contains(found)) grouping.pod_sub_group = component.name;
  }
  return grouping;
}

// ---- the older form ----

absl::StatusOr<const Component*> ComponentOfPod(const Karta& karta, const RuleInput& input) {
  std::vector<const Component*> with_template;
  for (const Component& component : karta.components) {
    if (component.has_pod_template) with_template.push_back(&component);
  }
  if (with_template.size() == 1) return with_template[0];
  for (const Component* const component : with_template) {
    if (IsSelected(*component, input)) return component;
  }
  return Invalid(fmt::format("{} is of no component", input.pod.Described()));
}

absl::StatusOr<bool> HoldAll(const std::vector<Expression>& filters, const RuleInput& input) {
  for (const Expression& filter : filters) {
    BASALT_ASSIGN_OR_RETURN(const json::value value, OneOf(filter, input));
    if (!value.is_bool() || !value.get_bool()) return false;
  }
  return true;
}

struct Place {
  const Karta::Entry* entry;
  const Karta::Member* member;
};

absl::StatusOr<Place> PlaceOf(const Karta& karta, const Component& component, const RuleInput& input) {
  for (const Component* one = &component; one != nullptr; one = karta.OwnerOf(*one)) {
    for (const Karta::Entry& entry : karta.entries) {
      for (const Karta::Member& member : entry.members) {
        if (member.component != one->name) continue;
        BASALT_ASSIGN_OR_RETURN(const bool holds, HoldAll(member.filters, input));
        if (holds) return Place{&entry, &member};
      }
    }
  }
  return Invalid(fmt::format("component {}: no pod group takes {}", component.name, input.pod.Described()));
}

absl::StatusOr<std::string> KeyedNameOf(const RuleInput& input, const Karta& karta, const Place& place) {
  std::string name = fmt::format("pg-{}", input.top.uid());
  for (const Expression& key : place.member->keys) {
    BASALT_ASSIGN_OR_RETURN(const json::value value, OneOf(key, input));
    name += "-" + KeyOf(value);
  }
  // Two entries must not share a group (G27).
  if (karta.entries.size() > 1) name = fmt::format("{}-{}", name, place.entry->name);
  if (GroupNameOf(name) != name) {
    return Invalid(fmt::format("{}: '{}' cannot be the name of a pod group", input.pod.Described(), Excerpt(name)));
  }
  return name;
}

// Whether one of the two components belongs to the other.
bool AreRelated(const Karta& karta, const Component& a, const Component& b) {
  for (const auto& [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    for (const Component* one = from; one != nullptr; one = karta.OwnerOf(*one)) {
      if (one == to) return true;
    }
  }
  return false;
}

bool HaveSameTexts(const std::vector<Expression>& a, const std::vector<Expression>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Expression& one, const Expression& other) { return one.text() == other.text(); });
}

// Returns the components whose pods the entry puts into the same groups: these pods, and those of all that belongs to
// the components, start together (G60). Components whose pods cannot be counted for one group are left out: filters and
// instances distribute their pods over several.
std::vector<const Component*> CountedAt(const Karta& karta, const Place& place) {
  std::vector<const Component*> counted = {karta.Find(place.member->component)};
  const auto is_distinguished = [&karta](const Karta::Member& member) {
    return !member.filters.empty() || karta.Find(member.component)->instance_ids.has_value();
  };
  if (is_distinguished(*place.member)) return counted;
  for (const Karta::Member& member : place.entry->members) {
    const Component& component = *karta.Find(member.component);
    const bool is_counted = std::any_of(counted.begin(), counted.end(),
                                        [&](const Component* one) { return AreRelated(karta, *one, component); });
    if (is_counted || is_distinguished(member) || !HaveSameTexts(member.keys, place.member->keys)) continue;
    counted.push_back(&component);
  }
  return counted;
}

absl::StatusOr<Grouping> GroupByKeys(const RuleInput& input, const Karta& karta, Grouping grouping) {
  BASALT_ASSIGN_OR_RETURN(const Component* const component, ComponentOfPod(karta, input));
  BASALT_ASSIGN_OR_RETURN(const Place place, PlaceOf(karta, *component, input));
  BASALT_ASSIGN_OR_RETURN(grouping.name, KeyedNameOf(input, karta, place));
  const Component& counted = *karta.Find(place.member->component);
  Scales scales(karta, input, grouping.warnings);
  int64_t scale = 0;
  if (&counted == component && counted.instance_ids && counted.instance_id) {
    BASALT_ASSIGN_OR_RETURN(const json::value id, OneOf(*counted.instance_id, input));
    BASALT_ASSIGN_OR_RETURN(scale, scales.OfInstance(counted, KeyOf(id)));
  } else {
    for (const Component* const one : CountedAt(karta, place)) {
      BASALT_ASSIGN_OR_RETURN(const int64_t of_one, scales.Of(*one));
      scale = std::min(scale + of_one, kMostPods);
    }
  }
  grouping.minimum = {.count = static_cast<int32_t>(scale)};
  return grouping;
}

}  // namespace

absl::StatusOr<Grouping> GroupByKarta(const RuleInput& input, const Karta& karta) {
  Grouping grouping = InheritFromTop(input);
  absl::StatusOr<Grouping> found =
      karta.one_group ? GroupAsOne(input, karta, std::move(grouping)) : GroupByKeys(input, karta, std::move(grouping));
  // Some failures count as answers; a spent budget must not.
  if (input.budget.is_spent()) {
    found = MakeStatus(
        absl::StatusCode::kResourceExhausted,
        fmt::format("its expressions take more than {} steps for {}", input.budget.most(), input.pod.Described()));
  }
  if (found.ok()) {
    found->sources["minMember"] = fmt::format("Karta {}", karta.name);
    return found;
  }
  return MakeStatus(found.status().code(), fmt::format("{}: Karta {}: {}", input.top.Described(), karta.name,
                                                       ToStd(found.status().message())));
}

}  // namespace basalt::pgsvc
