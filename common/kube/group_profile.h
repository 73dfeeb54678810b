#pragma once

// The rules by which pod groups are made, and the scheduler that reads them (pod-grouper 11); and the keys that follow
// from both. Pure.
#include <string>
#include <string_view>

namespace basalt::kube {

// The numbers are those of podgroup.v1.Profile.
enum class GroupProfile {
  kCompat = 1,  // A group of Volcano for a job, or for the pods of one controller.
  kRich = 2,    // A group of Volcano by the rules of all kinds.
  kKai = 3,     // A group of KAI by the rules of all kinds.
};

// Returns the routing key of pods and groups of a namespace that are grouped by the rules of all kinds: "ns/" for
// groups of Volcano, "ns" for groups of KAI.
std::string NamespaceKey(std::string_view ns, GroupProfile profile);
// Returns the profile that the routing key of a pod or a group implies: a key with a name belongs to kCompat.
GroupProfile ProfileOf(std::string_view routing_key);
// Returns the namespace that the routing key names, alone or before a name.
std::string_view NamespaceOf(std::string_view routing_key);

// Returns the key of the published and stored states of a group: "ns/name", and the profile behind another slash unless
// it is kCompat. SplitKey finds namespace and name in the key.
std::string ShownGroupKey(std::string_view ns, std::string_view name, GroupProfile profile);
GroupProfile ProfileOfShown(std::string_view shown_key);

}  // namespace basalt::kube
