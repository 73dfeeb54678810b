#pragma once

// Names that come from users' texts and have to be names of Kubernetes (pod-grouper 13: G16, G39). Pure.
#include <string>
#include <string_view>

namespace basalt::pgsvc {

// The text itself where it is a DNS subdomain of at most 253 characters, as names of objects are; else one made of it,
// always the same for the same text.
std::string GroupNameOf(std::string_view text);
// The same for a DNS label of at most 63 characters, as names of subgroups are.
std::string SubGroupNameOf(std::string_view text);

// Whether the name has the form that most rules give to the group of an owner's pods: "pg-", the UID of the owner
// behind the owner's name, and what tells several groups of one owner apart. Selectors of Spark, and owners with very
// long names, lead to others.
bool IsNameByRules(std::string_view group);

}  // namespace basalt::pgsvc
