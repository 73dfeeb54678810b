#pragma once

// The refusals of KAI's webhook for KAI's pod groups (pod-grouper 9.1). A group about which the webhook only warns
// passes. Pure.
#include <vector>

#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

bool IsKaiPodGroup(const TypeInfo& type);

enum class KaiWrite { kCreate, kUpdate };
std::vector<FieldError> CheckKaiPodGroup(const json::value& object, KaiWrite write);

}  // namespace basalt::kubesim
