#pragma once

// Which fields of a group the cluster's definition of KAI's groups knows, and what becomes of a group that needs more
// (pod-grouper 9.4). The API server drops fields that a definition lacks without a word, and refuses values below a
// minimum. Pure.
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "common/base/json.h"
#include "services/pgsvc/core/grouping/rule.h"

namespace basalt::pgsvc {

struct KaiGroupForm {
  using Names = std::set<std::string, std::less<>>;

  Names fields = {};            // Of spec; empty: whichever there are.
  Names sub_group_fields = {};  // Of an entry of spec.subGroups; empty: whichever there are.
  int64_t least = 0;            // That minMember of the group may be.
  int64_t least_of_leaf = 0;    // That minMember of a subgroup may be.

  friend bool operator==(const KaiGroupForm&, const KaiGroupForm&) = default;
};

// Of the CustomResourceDefinition. Where it has no schema of v2alpha2, the present form.
KaiGroupForm KaiGroupFormOf(const json::value& definition);

// What rules have to know of it.
GroupForm GroupFormOf(const KaiGroupForm& form);

// Takes out of spec what cannot be stored, and returns what is lost by that, in words, each with the field.
std::vector<std::string> FitInto(const KaiGroupForm& form, json::object& spec);

}  // namespace basalt::pgsvc
