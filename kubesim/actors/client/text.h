#pragma once

// Conversions to JSON texts. Pure.
#include <string_view>

#include "absl/time/time.h"
#include "common/base/json.h"
#include "common/kube/text.h"

namespace basalt::actors {

inline json::string Text(std::string_view text) { return json::string(text.data(), text.size()); }
// Returns the time in the form of metav1.Time.
inline json::string Text(absl::Time time) { return json::string(kube::FormatTime(absl::ToUnixMillis(time))); }

}  // namespace basalt::actors
