#pragma once

// Parts of JSON that the groups of both schedulers have in common. Pure.
#include <map>
#include <string>

#include "common/base/json.h"
#include "services/pgsvc/core/grouping/grouping.h"

namespace basalt::pgsvc {

inline json::object TextsOf(const std::map<std::string, std::string>& texts) {
  json::object object;
  for (const auto& [key, value] : texts) object[key] = value;
  return object;
}

inline json::object OwnerReferenceOf(const GroupOwner& owner) {
  return {{"apiVersion", owner.api_version}, {"kind", owner.kind}, {"name", owner.name}, {"uid", owner.uid}};
}

}  // namespace basalt::pgsvc
