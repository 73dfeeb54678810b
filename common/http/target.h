#pragma once

// Takes the target of a request apart, and escapes its parts. Pure.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace basalt::http {

// Splits "/a/b?x=1&y=2" into unescaped path segments and query parameters (in order, repeated names kept). A '%' that
// is not followed by two hex digits stands for itself, as in most servers.
struct Target {
  std::vector<std::string> segments;
  std::vector<std::pair<std::string, std::string>> query;
  std::string_view Query(std::string_view name) const;  // Empty if the parameter is absent.
  bool HasQuery(std::string_view name) const;
};
Target ParseTarget(std::string_view target);

// Escapes a path segment, or a name or value of the query.
std::string Escape(std::string_view text);

}  // namespace basalt::http
