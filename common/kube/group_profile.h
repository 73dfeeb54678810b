#pragma once

// By which rules pod groups are made, and which scheduler reads them (pod-grouper 11); and the keys that follow from
// that. Pure.
#include <string>
#include <string_view>

namespace basalt::kube {

// The numbers are those of podgroup.v1.Profile.
enum class GroupProfile {
  kCompat = 1,  // Volcano's: of a job, or of the pods of one controller.
  kRich = 2,    // Volcano's, by the rules of all kinds.
  kKai = 3,     // KAI's, by the rules of all kinds.
};

// The routing key of pods and groups of a namespace that are grouped by the rules of all kinds: "ns/" where the groups
// are Volcano's, "ns" where they are KAI's.
std::string NamespaceKey(std::string_view ns, GroupProfile profile);
// By the routing key of a pod or a group: one with a name is of kCompat.
GroupProfile ProfileOf(std::string_view routing_key);
// The namespace that the routing key names, alone or before a name.
std::string_view NamespaceOf(std::string_view routing_key);

// What people see of groups is stored and told by this key: "ns/name", and the profile behind another slash where that
// is not kCompat. SplitKey finds namespace and name in it.
std::string ShownGroupKey(std::string_view ns, std::string_view name, GroupProfile profile);
GroupProfile ProfileOfShown(std::string_view shown_key);

}  // namespace basalt::kube
