#pragma once

// What grouping finds for one pod: the group that the pod belongs to, in terms that know no scheduler
// (pod-grouper 5). Either scheduler reads a form of its own (kai_group.h,
// volcano_group.h). Values. Pure.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace basalt::pgsvc {

struct Topology {
  std::string name = {};       // Of the Topology; empty: none.
  std::string required = {};   // Level that pods must share.
  std::string preferred = {};  // Level that pods had better share.
  bool has_level() const { return !required.empty() || !preferred.empty(); }
  friend bool operator==(const Topology&, const Topology&) = default;
};

// How many pods, or subgroups, have to be placeable together.
struct Minimum {
  int32_t count = 1;           // 0: no gang.
  bool of_sub_groups = false;  // Counts direct child subgroups, else pods.
  friend bool operator==(const Minimum&, const Minimum&) = default;
};

struct SubGroup {
  std::string name = {};
  std::string parent = {};  // Empty: the group itself.
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
  bool has_default_queue = false;  // Nobody has named one.
  std::string priority_class = {};
  bool has_default_priority = false;        // The rule's own, which need not exist.
  std::string preemptibility = {};          // preemptible, non-preemptible; empty: unspecified.
  std::string preemption_delay = {};        // Go's canonical form; empty: unspecified.
  std::string staleness_grace_period = {};  // The same; may be negative.
  Minimum minimum = {};
  Topology topology = {};
  // A parent stands before its children.
  std::vector<SubGroup> sub_groups = {};
  // The leaf that the pod belongs to; empty: none.
  std::string pod_sub_group = {};
  // What was given and cannot be honoured, each with the object, the field and the rule: for an Event on the pod.
  std::vector<std::string> warnings = {};
  // Where the value of a field came from, by the name of the field: "label of Job default/j".
  std::map<std::string, std::string> sources = {};
};

}  // namespace basalt::pgsvc
