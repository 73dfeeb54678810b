#pragma once

// What KAI's webhook refuses of its pod groups (pod-grouper 9.1). What the webhook only warns of passes. Pure.
#include <vector>

#include "common/base/json.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

bool IsKaiPodGroup(const TypeInfo& type);

enum class KaiWrite { kCreate, kUpdate };
std::vector<FieldError> CheckKaiPodGroup(const json::value& object, KaiWrite write);

}  // namespace basalt::kubesim
