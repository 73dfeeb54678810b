#pragma once

// Amounts of resources by name, in thousandths, and the requests of pods. Pure.
#include <map>
#include <string>

#include "common/base/json.h"

namespace basalt::actors {

// A resource that is not listed is zero in an amount, and unlimited in a limit.
using Amounts = std::map<std::string, int64_t>;

inline constexpr char kPodsResource[] = "pods";

// Returns the amounts of a resource list ({"cpu":"500m","memory":"1Gi"}). Entries that are no quantities are left out.
Amounts AmountsOf(const json::value* list);
// Returns the amounts of a group's minResources, only with the names that a scheduler uses. count/*, limits.* and
// requests.* (but for names with kubernetes.io/) are for quotas alone (podgroup spec 6.4).
Amounts SchedulableAmountsOf(const json::value* list);
void Add(Amounts& to, const Amounts& what, int64_t times = 1);
// Returns whether `used` + `more` stay within `limit` for every resource that `limit` lists.
bool WithinListed(const Amounts& used, const Amounts& more, const Amounts& limit);
// Returns whether `used` + `more` stay within `limit` for every resource of `more`. A resource that `limit` does not
// list has capacity 0.
bool Fits(const Amounts& used, const Amounts& more, const Amounts& limit);
// Returns the first resource for which Fits fails. Empty if Fits holds.
std::string Lacking(const Amounts& used, const Amounts& more, const Amounts& limit);

// Returns the sum of the containers' requests (or limits, if there is no request), no less than those of each init
// container, plus the overhead. The pod itself ("pods") is not included.
Amounts PodRequest(const json::value& spec);

}  // namespace basalt::actors
