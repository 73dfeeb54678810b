#pragma once

// ResourceQuota as far as it counts objects: `pods` (unfinished ones), `count/<resource>` and the old names of core
// kinds. Amounts of cpu, memory and storage, and scopes, are ignored. Pure reads of the store.
#include <string_view>

#include "absl/status/status.h"
#include "kubesim/server/state/core.h"

namespace basalt::kubesim {

inline constexpr char kQuotas[] = "resourcequotas";

// Returns 403 if one more object of this type exceeds a quota of its namespace.
absl::Status CheckQuotas(const Core& core, const TypeInfo& type, const json::value& object);

// Returns the amounts in use for quota.spec.hard, in the form of status.used.
json::object QuotaUsed(const Core& core, const json::value& quota);

}  // namespace basalt::kubesim
