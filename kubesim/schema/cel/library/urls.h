#pragma once

// An absolute URL or path, split into its parts. Pure.
#include <string_view>

#include "absl/status/statusor.h"
#include "kubesim/schema/cel/value/value.h"

namespace basalt::kubesim::cel {

// INVALID_ARGUMENT in the words of the API server: what was parsed, and what is wrong with it.
absl::StatusOr<Url> ParseUrl(std::string_view text);

// Percent signs undone, and plus signs in a query. Nothing is changed where they are broken.
std::string Unescaped(std::string_view text, bool query);
std::string EscapedPath(std::string_view path);
// The host without its port and brackets, and the port.
std::string Hostname(std::string_view host);
std::string Port(std::string_view host);

}  // namespace basalt::kubesim::cel
