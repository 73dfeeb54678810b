#pragma once

// Whether two pieces of a pod template or claim mean the same to Kubernetes (job spec 1.2): quantities compare by
// value, null, an absent member and an empty list or map are one. Pure.
#include "common/base/json.h"

namespace basalt::jobsvc {

bool SemanticallyEqual(const json::value& a, const json::value& b);
// Both as JSON texts; what does not parse is compared as text.
bool SemanticallyEqualTexts(const std::string& a, const std::string& b);

}  // namespace basalt::jobsvc
