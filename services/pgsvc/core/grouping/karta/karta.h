#pragma once

// A Karta: the structure of a kind of workload, and how its pods are grouped (pod-grouper 6.11). Read from the object
// run.ai/v1alpha1 Karta. A value. Pure.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "services/pgsvc/core/grouping/grouping.h"
#include "services/pgsvc/core/grouping/karta/expression.h"
#include "services/pgsvc/core/grouping/object_view.h"
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

inline constexpr std::string_view kKartaApiVersion = "run.ai/v1alpha1";
inline constexpr std::string_view kKartaKind = "Karta";

struct Karta {
  // The limit of components, and of entries in any list of a Karta.
  static constexpr size_t kMostComponents = 100;

  // Selects the pods of a component.
  struct TypeSelector {
    Expression key;  // Evaluated over the pod.
    std::optional<std::string> value;
  };
  struct Component {
    std::string name;
    std::string owner;  // Empty for a child of the root component.
    bool has_pod_template = false;
    // Expressions over the workload. Each yields one value for each instance of the component.
    std::optional<Expression> replicas;
    std::optional<Expression> min_replicas;
    std::optional<Expression> instance_ids;
    // Expressions over a pod.
    std::optional<TypeSelector> type;
    std::optional<Expression> instance_id;
  };
  struct SubGroupOf {
    std::string component;
    std::optional<Topology> topology;
  };
  // All pods are one group.
  struct OneGroup {
    std::string name;
    std::optional<Topology> topology;
    std::vector<SubGroupOf> sub_groups;
  };
  struct Member {
    std::string component;
    std::vector<Expression> keys;     // Over the pod: pods with the same values are one group.
    std::vector<Expression> filters;  // Over the pod: all of them must hold.
  };
  struct Entry {
    std::string name;
    std::vector<Member> members;
  };

  std::string name = {};
  KindName kind = {};  // The kind of the workload.
  // The root comes first. The list contains the owner of each component.
  std::vector<Component> components = {};
  // Either `one_group` or `entries` is set. The components that members of entries name exist; those of the one group's
  // subgroups may not.
  std::optional<OneGroup> one_group = {};
  std::vector<Entry> entries = {};

  const Component* Find(std::string_view component) const;
  // Returns the component that owns this one; null for the root, or if there is no component of the owner's name.
  const Component* OwnerOf(const Component& component) const;
};

// Whether the Karta contains instructions for grouping at all; if not, it counts as absent.
bool HasGangInstructions(ObjectView karta);
// Returns the kind that the Karta is about. Its group or kind may be empty.
KindName KindOfKarta(ObjectView karta);

// INVALID_ARGUMENT names the field and the rule: components without a name or with the same name, an owner that does
// not exist, a cycle, a root with an owner, without a status definition or without its whole kind, two pod specs of one
// component, instances that pods or the workload do not name, a member of an entry that is no component, an expression
// that needs more than expression.h knows, or one that reads a part of workloads or pods that is not kept.
absl::StatusOr<Karta> ReadKarta(ObjectView karta);

}  // namespace basalt::pgsvc
