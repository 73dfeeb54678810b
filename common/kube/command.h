#pragma once

// Makes Commands of bus.volcano.sh as vcctl writes them (job spec 1.7, queue spec 1.5). Pure functions, safe from any
// thread.
#include <string>
#include <string_view>

#include "common/base/json.h"

namespace basalt::kube {

// Returns "<object>-<action in lower case>-<16 hexadecimal digits>". The digits follow from `facts`, which name the
// Command's object, purpose and author. The object's name is cut if the whole would be too long.
std::string CommandName(std::string_view object, std::string_view action, std::string_view facts);

// Returns the Command. `target` is an owner reference to the object that the action is about, which owns the Command.
json::object CommandObject(std::string_view ns, std::string_view name, std::string_view action, json::object target);

// Returns the owner reference to the controller of an object. `blocks_deletion` sets blockOwnerDeletion, for which a
// server may demand the right to set finalizers of the owner.
json::object ControllerReference(std::string_view api_version, std::string_view kind, std::string_view name,
                                 std::string_view uid, bool blocks_deletion);

}  // namespace basalt::kube
