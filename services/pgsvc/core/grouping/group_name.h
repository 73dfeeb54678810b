#pragma once

// Makes names of Kubernetes from users' texts (pod-grouper 13: G16, G39). Pure.
#include <string>
#include <string_view>

namespace basalt::pgsvc {

// Returns the text itself if it is a DNS subdomain of at most 253 characters, as names of objects are. Else returns a
// name made from the text, which is always the same for the same text.
std::string GroupNameOf(std::string_view text);
// Does the same for a DNS label of at most 63 characters, as names of subgroups are.
std::string SubGroupNameOf(std::string_view text);

// Whether the name has the form that most rules give to the group of an owner's pods: "pg-", the owner's name, its UID,
// and a suffix if one owner has several groups. Selectors of Spark, and owners with very long names, lead
// to other names.
bool IsNameByRules(std::string_view group);

}  // namespace basalt::pgsvc
