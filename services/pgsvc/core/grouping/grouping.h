#pragma once

// The result of grouping one pod: the group that the pod belongs to, independent of any scheduler (pod-grouper 5). Each
// scheduler reads a form of its own (kai_group.h, volcano_group.h). Values. Pure.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace basalt::pgsvc {

struct Topology {
  std::string name = {};       // The name of the Topology; empty if there is none.
  std::string required = {};   // The level that the pods must share.
  std::string preferred = {};  // The level that the pods should share.
  bool has_level() const { return !required.empty() || !preferred.empty(); }
  friend bool operator==(const Topology&, const Topology&) = default;
};

// How many pods, or subgroups, must be placeable together.
struct Minimum {
  int32_t count = 1;           // 0 means no gang.
  bool of_sub_groups = false;  // The count is one of direct child subgroups, not of pods.
  friend bool operator==(const Minimum&, const Minimum&) = default;
};

struct SubGroup {
  std::string name = {};
  std::string parent = {};  // Empty for a child of the group itself.
  Minimum minimum = {};
  Topology topology = {};
  friend bool operator==(const SubGroup&, const SubGroup&) = default;
};

struct GroupOwner {
  std::string api_version = {};
  std::string kind = {};
  std::string name = {};
  std::string uid = {};
  friend bool operator==(const GroupOwner&, const GroupOwner&) = default;
};

struct Grouping {
  std::string name = {};
  std::string ns = {};
  GroupOwner owner = {};
  std::map<std::string, std::string> labels = {};
  std::map<std::string, std::string> annotations = {};
  std::string queue = {};
  bool has_default_queue = false;  // True if nothing names a queue.
  std::string priority_class = {};
  bool has_default_priority = false;        // The rule's own class, which need not exist.
  std::string preemptibility = {};          // preemptible or non-preemptible; empty if unspecified.
  std::string preemption_delay = {};        // In Go's canonical form; empty if unspecified.
  std::string staleness_grace_period = {};  // In the same form; may be negative.
  Minimum minimum = {};
  Topology topology = {};
  // A parent stands before its children.
  std::vector<SubGroup> sub_groups = {};
  // The leaf that the pod belongs to; empty if none.
  std::string pod_sub_group = {};
  // Texts for an Event on the pod about requests that cannot be honoured, each with the object, the field and the rule.
  std::vector<std::string> warnings = {};
  // The source of each field's value, by the name of the field: "label of Job default/j".
  std::map<std::string, std::string> sources = {};
};

}  // namespace basalt::pgsvc
