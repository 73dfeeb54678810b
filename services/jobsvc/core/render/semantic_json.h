#pragma once

// What a piece of a pod template or claim means to Kubernetes (job spec 1.2): quantities count by value, null, an
// absent member and an empty list or map are one. Pure.
#include <string>

#include "common/base/json.h"

namespace basalt::jobsvc {

bool SemanticallyEqual(const json::value& a, const json::value& b);
// Both as JSON texts; what does not parse is compared as text.
bool SemanticallyEqualTexts(const std::string& a, const std::string& b);

// One text for all that mean the same; what does not parse stays as it is.
std::string CanonicalText(const std::string& text);

}  // namespace basalt::jobsvc
