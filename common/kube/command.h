#pragma once

// Commands of bus.volcano.sh as vcctl writes them (job spec 1.7, queue spec 1.5). Pure functions, safe from any thread.
#include <string>
#include <string_view>

#include "common/base/json.h"

namespace basalt::kube {

// "<object>-<action in lower case>-<16 hexadecimal digits>": the same where all of `facts` are, which say of which
// object, for what and by whom the Command is made. The object's name is cut off where the whole would be too long.
std::string CommandName(std::string_view object, std::string_view action, std::string_view facts);

// The Command: `target`, an owner reference, is what the action is about, and owns the Command.
json::object CommandObject(std::string_view ns, std::string_view name, std::string_view action, json::object target);

// The owner reference to the object that controls what carries the reference. `blocks_deletion`: with
// blockOwnerDeletion, for which a server may demand the right to set finalizers of the owner.
json::object ControllerReference(std::string_view api_version, std::string_view kind, std::string_view name,
                                 std::string_view uid, bool blocks_deletion);

}  // namespace basalt::kube
