#pragma once

// The meaning of a piece of a pod template or claim to Kubernetes (job spec 1.2): quantities count by value; null, an
// absent member, and an empty list or map are the same. Pure.
#include <string>

#include "common/base/json.h"

namespace basalt::jobsvc {

bool SemanticallyEqual(const json::value& a, const json::value& b);
// Compares two JSON texts by meaning. A text that does not parse is compared as it is.
bool SemanticallyEqualTexts(const std::string& a, const std::string& b);

// Returns one text for all that mean the same. A text that does not parse is returned as it is.
std::string CanonicalText(const std::string& text);

}  // namespace basalt::jobsvc
