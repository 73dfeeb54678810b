#pragma once

// Checks whether a server can decode an object of a core kind at all, before the object is validated. Pure. Only leases
// and ConfigMaps are checked, since their clients depend on it.
#include <string>
#include <string_view>

#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

// Returns the decoder's message about the part that cannot be decoded. Empty if all can be, and for other kinds.
std::string WhyUnreadable(const TypeInfo& type, const json::value& object);

// Returns the time in UTC. A text that is no time is returned unchanged.
std::string MicroTimeInUtc(std::string_view text);

}  // namespace basalt::kubesim
