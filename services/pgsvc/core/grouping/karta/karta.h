#pragma once

// A Karta: how a kind of workload is built, and how its pods are grouped (pod-grouper 6.11). Read from the object
// run.ai/v1alpha1 Karta; a value. Pure.
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
  // A Karta may have so many components, and so many entries in any of its lists.
  static constexpr size_t kMostComponents = 100;

  // Which pods belong to a component.
  struct TypeSelector {
    Expression key;  // Of the pod.
    std::optional<std::string> value;
  };
  struct Component {
    std::string name;
    std::string owner;  // Empty: the root component.
    bool has_pod_template = false;
    // Expressions over the workload, which yield one value for each instance of the component.
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
    std::vector<Expression> keys;     // Of the pod: pods with the same values are one group.
    std::vector<Expression> filters;  // Of the pod: all of them must hold.
  };
  struct Entry {
    std::string name;
    std::vector<Member> members;
  };

  std::string name = {};
  KindName kind = {};  // Of the workload.
  // The root first; each one's owner stands in the list.
  std::vector<Component> components = {};
  // One of the two. Members of entries name components that stand there; subgroups of the one group need not.
  std::optional<OneGroup> one_group = {};
  std::vector<Entry> entries = {};

  const Component* Find(std::string_view component) const;
  // The component that owns this one; null: it is the root, or there is none of that name.
  const Component* OwnerOf(const Component& component) const;
};

// Whether the Karta says how pods are grouped at all; where the answer is no the Karta is as if absent.
bool HasGangInstructions(ObjectView karta);
// The kind that the Karta is about; its group or kind may be empty.
KindName KindOfKarta(ObjectView karta);

// INVALID_ARGUMENT names the field and the rule: components without a name or with one name, an owner that does not
// exist, a cycle, a root with an owner, without a status definition or without its whole kind, two pod specs of one
// component, instances of which pods or the workload say nothing, a member of an entry that is no component, an
// expression that needs more than expression.h knows, or that reads what is not kept of workloads and pods.
absl::StatusOr<Karta> ReadKarta(ObjectView karta);

}  // namespace basalt::pgsvc
