#pragma once

// ResourceQuota as far as it counts objects: `pods` (those that have not finished), `count/<resource>` and the old
// names of core kinds. Amounts of cpu, memory and storage, and scopes, are not looked at. Pure reads of the store.
#include <string_view>

#include "absl/status/status.h"
#include "kubesim/server/state/core.h"

namespace basalt::kubesim {

inline constexpr char kQuotas[] = "resourcequotas";

// 403 for one object more of that type than a quota of its namespace allows.
absl::Status CheckQuotas(const Core& core, const TypeInfo& type, const json::value& object);

// What of quota.spec.hard is in use, as status.used has it.
json::object QuotaUsed(const Core& core, const json::value& quota);

}  // namespace basalt::kubesim
