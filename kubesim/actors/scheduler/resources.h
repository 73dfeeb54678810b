#pragma once

// Amounts of resources by name, in thousandths, and what a pod asks for. Pure.
#include <map>
#include <string>

#include "common/base/json.h"

namespace basalt::actors {

// What is not listed is zero in an amount, and unlimited in a limit.
using Amounts = std::map<std::string, int64_t>;

inline constexpr char kPodsResource[] = "pods";

// Of a resource list ({"cpu":"500m","memory":"1Gi"}); entries that are no quantities are left out.
Amounts AmountsOf(const json::value* list);
// The same of a group's minResources: only the names that a scheduler looks at. count/*, limits.* and requests.* (but
// for names with kubernetes.io/) are for quotas alone (podgroup spec 6.4).
Amounts SchedulableAmountsOf(const json::value* list);
void Add(Amounts& to, const Amounts& what, int64_t times = 1);
// `used` + `more` stay within `limit` on every resource that `limit` lists.
bool WithinListed(const Amounts& used, const Amounts& more, const Amounts& limit);
// Every resource of `more` has room in `limit`, one that `limit` does not list has none.
bool Fits(const Amounts& used, const Amounts& more, const Amounts& limit);
// The first resource for which Fits fails; empty if it holds.
std::string Lacking(const Amounts& used, const Amounts& more, const Amounts& limit);

// Requests (where absent, limits) of the containers, at least those of each init container, plus the overhead. Without
// the pod itself ("pods").
Amounts PodRequest(const json::value& spec);

}  // namespace basalt::actors
