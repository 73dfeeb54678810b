#pragma once

// Whether a server could read an object of a core kind at all, before it looks at what it says. Pure. Only kinds whose
// clients depend on it: leases and ConfigMaps; of others nothing is said.
#include <string>
#include <string_view>

#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

// The decoder's own words of what it cannot read; empty where it can.
std::string WhyUnreadable(const TypeInfo& type, const json::value& object);

// The same moment in UTC; a text that is none stays.
std::string MicroTimeInUtc(std::string_view text);

}  // namespace basalt::kubesim
