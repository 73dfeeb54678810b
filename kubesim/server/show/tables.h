#pragma once

// Formats objects as a Table (meta.k8s.io), with the list's metadata.
#include <vector>

#include "absl/time/time.h"
#include "common/base/json.h"
#include "kubesim/server/show/representation.h"

namespace basalt::kubesim {

// Returns the Table. If `columns` is false, the column definitions are left out, as in all but the first event of a
// watch.
json::value TableOf(const TypeInfo& type, const std::vector<const json::value*>& objects, const ListMetadata& metadata,
                    const Representation& how, bool columns, absl::Time now);

}  // namespace basalt::kubesim
